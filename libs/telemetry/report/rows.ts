import type { CleanFields, Kind } from './fields.ts'

/** How the position of an RF sample was found; `none` means it has none. */
export const alignments = ['device', 'dwell', 'interpolated', 'exact', 'held', 'none'] as const
type Alignment = (typeof alignments)[number]

type RowBase<K extends Kind> = CleanFields<K> & {
  kind: K
  tsMs: number
  /** Whether `tsMs` was corrected because the router's clock was wrong. */
  tsCorrected: boolean
}

type ConnectionRow = RowBase<'connection'>
type SystemRow = RowBase<'system'>
/**
 * `usable` is false for fixes that must never move a marker, a dwell or a coverage cell. `isUndated`: only because the time of the
 * fix is unknown, so that it may repeat the fix before. Not stored.
 */
export type LocationRow = RowBase<'location'> & { usable: boolean; isUndated?: boolean }

/** Where an RF sample was measured, and the error of that position. */
export type AlignedPosition = {
  alignedLat: number | null
  alignedLon: number | null
  alignment: Alignment
  alignErrorM: number | null
  alignedFixAgeMs: number | null
}

/** The coverage cells of an aligned row: H3 indexes as 64-bit integers, null when its error is too large for one. */
export type CoverageCells = { h3Res10: bigint | null; h3Res5: bigint | null }

/** `lostPlmn`: the operator for which a row without service and without `plmn` counts. */
export type CellularRow = RowBase<'cellular'> & AlignedPosition & CoverageCells & { lostPlmn: string | null }

/**
 * What alignment reads and changes of an RF row. `restBytes`: the size of everything else, if the row has it only as bytes; default 0.
 */
export type RadioFacts = Pick<CellularRow, 'tsMs' | 'modem' | 'rat' | 'plmn' | 'simPlmn' | 'lostPlmn'> &
  Pick<CellularRow, 'lat' | 'lon' | 'accuracyM' | 'fixAgeMs'> &
  AlignedPosition &
  CoverageCells & { restBytes?: number }

/** A stored sample of any kind, before it is bound to its device. */
export type CleanRow = ConnectionRow | CellularRow | SystemRow | LocationRow

export type RowOf<K extends Kind> = Extract<CleanRow, { kind: K }>
