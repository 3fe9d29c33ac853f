import type { CellularRow, RadioFacts } from '#telemetry/report/rows'
import { createLineBuffer, type LineBuffer, putBytes, reserve } from './line-buffer.ts'
import { createMemberWriter, maxFixedValueBytes, planColumn, putField, putSymbol } from './row-members.ts'
import { tables } from './tables.ts'

/**
 * An RF row as the writer keeps it: what alignment reads and changes, and the rest of its line protocol, which never changes. A
 * row is written again for each better position, and kept between two reports; as bytes, it is a copy.
 */
export type RadioRow = RadioFacts & {
  organizationId: string
  receivedAtMs: number
  /** The columns that do not change: first the symbols, then the fields. */
  readonly rest: Buffer
  readonly symbolBytes: number
  readonly restBytes: number
}

/** The columns that alignment, the report's `connection` samples or the lost operator may change after the row was encoded. */
const laterColumns = {
  simPlmn: planColumn({ name: 'sim_plmn', type: 'SYMBOL' }),
  alignment: planColumn({ name: 'alignment', type: 'SYMBOL' }),
  lostPlmn: planColumn({ name: 'lost_plmn', type: 'SYMBOL' }),
  alignedLat: planColumn({ name: 'aligned_lat', type: 'DOUBLE' }),
  alignedLon: planColumn({ name: 'aligned_lon', type: 'DOUBLE' }),
  alignErrorM: planColumn({ name: 'align_error_m', type: 'DOUBLE' }),
  alignedFixAgeMs: planColumn({ name: 'aligned_fix_age_ms', type: 'DOUBLE' }),
  h3Res10: planColumn({ name: 'h3_10', type: 'LONG' }),
  h3Res5: planColumn({ name: 'h3_5', type: 'LONG' }),
}
const later = Object.values(laterColumns)
/** Space for the later columns and the end of the line. */
export const laterBytes = later.reduce(
  (sum, { prefix }) => sum + prefix.length + maxFixedValueBytes,
  maxFixedValueBytes,
)

const members = createMemberWriter(
  tables.cellular.columns.filter(({ key }) => key !== 'receivedAtMs' && !Object.hasOwn(laterColumns, key)),
)
const scratch = createLineBuffer(16 * 1024)
let symbolEnd = 0
const noteSymbolEnd = ({ at }: LineBuffer) => {
  symbolEnd = at
}

/** Encodes what does not change of an RF row. */
export function radioRow(row: CellularRow, organizationId: string, receivedAtMs: number): RadioRow {
  scratch.at = 0
  reserve(scratch, members.fixedBytes)
  members.put(scratch, row, noteSymbolEnd)
  const { tsMs, modem, rat, plmn, simPlmn, lostPlmn, lat, lon, accuracyM, fixAgeMs } = row
  const { alignment, alignedLat, alignedLon, alignErrorM, alignedFixAgeMs, h3Res10, h3Res5 } = row
  // The order of `packed-states`: objects of one shape are faster.
  return {
    organizationId,
    modem,
    rat,
    plmn,
    simPlmn,
    lostPlmn,
    tsMs,
    receivedAtMs,
    lat,
    lon,
    accuracyM,
    fixAgeMs,
    alignment,
    alignedLat,
    alignedLon,
    alignErrorM,
    alignedFixAgeMs,
    h3Res10,
    h3Res5,
    symbolBytes: symbolEnd,
    rest: Buffer.from(scratch.memory.subarray(0, scratch.at)),
    restBytes: scratch.at,
  }
}

export const putRestSymbols = (buffer: LineBuffer, { rest, symbolBytes }: RadioRow): void =>
  putBytes(buffer, rest, 0, symbolBytes)

export const putRestFields = (buffer: LineBuffer, { rest, symbolBytes }: RadioRow): void =>
  putBytes(buffer, rest, symbolBytes, rest.length)

export function putLaterSymbols(buffer: LineBuffer, { restBytes, simPlmn, alignment, lostPlmn }: RadioRow): void {
  const tailBytes = restBytes + laterBytes
  if (simPlmn !== null) putSymbol(buffer, laterColumns.simPlmn, simPlmn, tailBytes)
  putSymbol(buffer, laterColumns.alignment, alignment, tailBytes)
  if (lostPlmn !== null) putSymbol(buffer, laterColumns.lostPlmn, lostPlmn, tailBytes)
}

export function putLaterFields(buffer: LineBuffer, row: RadioRow): void {
  const { alignedLat, alignedLon, alignErrorM, alignedFixAgeMs, h3Res10, h3Res5 } = row
  if (alignedLat !== null) putField(buffer, laterColumns.alignedLat, alignedLat, 0)
  if (alignedLon !== null) putField(buffer, laterColumns.alignedLon, alignedLon, 0)
  if (alignErrorM !== null) putField(buffer, laterColumns.alignErrorM, alignErrorM, 0)
  if (alignedFixAgeMs !== null) putField(buffer, laterColumns.alignedFixAgeMs, alignedFixAgeMs, 0)
  if (h3Res10 !== null) putField(buffer, laterColumns.h3Res10, h3Res10, 0)
  if (h3Res5 !== null) putField(buffer, laterColumns.h3Res5, h3Res5, 0)
}
