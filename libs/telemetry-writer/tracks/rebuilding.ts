import type { TimeRange } from '#telemetry/position/device-alignment'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import type { RadioRow } from '#telemetry/rows/radio-row'

/** How far the replacement of a track's alignment from storage has come. */
export type Rebuilding = {
  /** The first time that the new alignment covers. */
  fromMs: number
  /** The newest fix that the new alignment has read. */
  scannedToMs: number
  /** The newest row that the new alignment has placed. */
  placedToMs: number
  /** The oldest fix that arrived for a time that was already scanned. */
  lateFromMs: number
}

export const rebuildingFrom = (fromMs: number): Rebuilding => ({
  fromMs,
  scannedToMs: fromMs - 1,
  placedToMs: fromMs - 1,
  lateFromMs: Infinity,
})

/**
 * Notes late data of a report, and returns which times are to be aligned again. The old alignment finds everything dirty, but only
 * times that were already scanned or placed need another realignment: the rebuild reads the rest from storage.
 */
export function noteLateData(
  rebuilding: Rebuilding,
  step: { reports: readonly FixReport[]; samples: readonly { tsMs: number }[]; dirty: readonly TimeRange[] },
): TimeRange[] {
  const late = step.reports
    .filter(({ tsMs }) => tsMs <= rebuilding.scannedToMs)
    .map(({ tsMs, fixTs }) => ({ fromMs: Math.min(fixTs ?? tsMs, tsMs), toMs: tsMs }))
  rebuilding.lateFromMs = late.reduce((oldest, { fromMs }) => Math.min(oldest, fromMs), rebuilding.lateFromMs)
  const placed = step.samples.filter(({ tsMs }) => tsMs >= rebuilding.fromMs && tsMs <= rebuilding.placedToMs)
  const earlier = step.dirty.filter(({ toMs }) => toMs < rebuilding.fromMs)
  return [...late, ...placed.map(({ tsMs }) => ({ fromMs: tsMs, toMs: tsMs })), ...earlier]
}

/** The old alignment lacks late fixes, so it must not move rows that the rebuild has placed. */
export function withoutPlaced(
  { fromMs, placedToMs }: Readonly<Rebuilding>,
  moved: readonly RadioRow[],
  samples: readonly RadioRow[],
): RadioRow[] {
  const fresh = new Set(samples.map(({ tsMs }) => tsMs))
  return moved.filter(({ tsMs }) => tsMs < fromMs || tsMs > placedToMs || fresh.has(tsMs))
}
