import type { Arrival, StoredCellularRow, StoredFixReport } from '#questdb/device-tracks'
import type { TrackStore } from '#questdb/track-store'
import type { TimeRange } from '#telemetry/device-alignment'
import type { Dwell, DwellPolicy } from '#telemetry/dwell'
import type { RowOrigin } from '#telemetry/ilp'
import { createFixScan, createRowPlacer, type FixScan } from '#telemetry/realign'
import { createStartSearch, type RealignStart } from '#telemetry/realign-start'
import type { DwellRow } from './dwell-row.ts'

/** Rows to write again, each with where it came from. */
export type Realigned = {
  rows: { row: StoredCellularRow; origin: RowOrigin }[]
  dwells: { row: DwellRow; origin: RowOrigin }[]
}

/**
 * Work in slices: each slice reads a bounded amount, and what it read is written before anything else changes it. Other
 * work may come between two slices.
 */
export type Slices<Result> = AsyncGenerator<Realigned, Result, void>

/** How far around a dirty range fresh starts are looked for. */
export const longestReachMs = 7 * 24 * 60 * 60_000

/** A device that drives has a start nearby more often than not. */
const nearbyFixes = 200

export const nothing = (): Realigned => ({ rows: [], dwells: [] })

export const originOf = (deviceId: string, { organizationId, receivedAtMs }: Arrival): RowOrigin => ({
  deviceId,
  organizationId,
  receivedAtMs,
})

/**
 * Where a realignment of the range begins: at the last fresh start, at the first report, or, when that is further back
 * than is read, at the arrival of a dwell that was going on there or at a fix.
 */
export async function* findStart(store: TrackStore, policy: DwellPolicy, range: TimeRange): Slices<RealignStart> {
  const reachFromMs = range.fromMs - longestReachMs
  const search = createStartSearch(policy)
  let toMs = range.fromMs - 1
  for (let limit = Math.min(nearbyFixes, store.pageSizes.fixes); ; limit = store.pageSizes.fixes) {
    const page = await store.fixesBackwards({ fromMs: reachFromMs, toMs }, limit)
    const start = search.take(page)
    if (start) return start
    if (page.length < limit) break
    toMs = (page.at(-1)?.tsMs ?? toMs) - 1
    yield nothing()
  }
  const everything = { reportsFromMs: reachFromMs, rowsFromMs: reachFromMs }
  const older = await store.fixesBackwards({ fromMs: Number.NEGATIVE_INFINITY, toMs: reachFromMs - 1 }, 1)
  if (older.length === 0) return search.atBeginning() ?? everything
  // The arrival of a dwell is as good a beginning; without it the rest of a long one would be taken for another. Rows
  // after it need no fix before it: a dwell of one fix lasts longer than a curve.
  const before = await store.dwellsBackwards(reachFromMs, 100)
  const across = before.find(({ withdrawn }) => !withdrawn)
  if (across && across.lastInsideAtMs >= reachFromMs)
    return { reportsFromMs: across.arrivedAtMs, rowsFromMs: across.arrivedAtMs }
  return search.oldestOfFixes() ?? everything
}

/** What the pass over the fixes found. */
export type Scanned = {
  scan: FixScan
  start: RealignStart
  /** Where new dwells come from, by arrival, as far as the pages showed it. */
  origins: Map<number, Arrival>
  /** All reports when they were a single page. */
  singlePage: StoredFixReport[] | undefined
}

/** Runs over the fixes from the start to the first fresh start behind the range, at most up to `reachToMs`. */
export async function* scanFixes(
  store: TrackStore,
  policy: DwellPolicy,
  range: TimeRange,
  { start, reachToMs, onPage }: { start: RealignStart; reachToMs: number; onPage?: (lastTsMs: number) => void },
): Slices<Scanned> {
  const scan = createFixScan(policy, start, range)
  const origins = new Map<number, Arrival>()
  for (let fromMs = start.reportsFromMs; ; yield nothing()) {
    const isFirst = fromMs === start.reportsFromMs
    const page = await store.fixes({ fromMs, toMs: reachToMs }, store.pageSizes.fixes)
    noteOrigins(origins, scan.take(page), page, isFirst)
    const lastTsMs = page.at(-1)?.tsMs
    if (lastTsMs !== undefined) onPage?.(lastTsMs)
    if (scan.isClosed() || page.length < store.pageSizes.fixes || lastTsMs === undefined)
      return { scan, start, origins, singlePage: isFirst ? page : undefined }
    fromMs = lastTsMs + 1
  }
}

/** A new dwell belongs to whoever owned the device when it arrived. */
export function noteOrigins(
  origins: Map<number, Arrival>,
  dwells: readonly Dwell[],
  page: readonly StoredFixReport[],
  isFirst: boolean,
): void {
  let index = 0
  for (const { arrivedAtMs } of dwells) {
    if (origins.has(arrivedAtMs) || (!isFirst && (page[0]?.tsMs ?? 0) > arrivedAtMs)) continue
    while ((page[index]?.tsMs ?? Number.POSITIVE_INFINITY) < arrivedAtMs) index++
    const report = page[index]
    if (report) origins.set(arrivedAtMs, report)
  }
}

export type RowPass = {
  deviceId: string
  scanned: Scanned
  rows: TimeRange
  /** Fixes behind this were not part of the scan. */
  fixesToMs: number
  /** Called with every row where it belongs, in order of time. */
  onRow: (placed: StoredCellularRow) => void
  /** Rows that are not to be written again although they stand elsewhere. */
  leaves: (placed: StoredCellularRow) => boolean
}

/** Places the rows of a range among the fixes and dwells that were scanned. Slices hold the rows that moved. */
export async function* placeRows(store: TrackStore, pass: RowPass): Slices<void> {
  const { deviceId, scanned, rows, fixesToMs, onRow, leaves } = pass
  const placer = createRowPlacer(scanned.scan.dwells())
  let nextFixMs = scanned.start.reportsFromMs
  let hasMoreFixes = true

  const takeFixes = async () => {
    const page =
      scanned.singlePage ?? (await store.fixes({ fromMs: nextFixMs, toMs: fixesToMs }, store.pageSizes.fixes))
    placer.takeReports(page)
    const lastTsMs = page.at(-1)?.tsMs
    hasMoreFixes = !scanned.singlePage && lastTsMs !== undefined && page.length === store.pageSizes.fixes
    if (lastTsMs !== undefined) nextFixMs = lastTsMs + 1
  }

  for (let fromMs = rows.fromMs; ; ) {
    const page = await store.rows({ fromMs, toMs: rows.toMs }, store.pageSizes.rows)
    const moved = nothing()
    let placedToMs = fromMs - 1
    let resumeAtMs = page.length === store.pageSizes.rows ? (page.at(-1)?.tsMs ?? 0) + 1 : undefined
    let hasTakenFixes = false
    for (const row of page) {
      if (hasMoreFixes && placer.needsReports(row.tsMs)) {
        if (!hasTakenFixes) await takeFixes()
        hasTakenFixes = true
        // One page of fixes a slice; the rows from here on, and those that arrive before them, are read with the next one.
        if (hasMoreFixes && placer.needsReports(row.tsMs)) {
          resumeAtMs = placedToMs + 1
          break
        }
      }
      const placed = placer.place(row) as StoredCellularRow
      if (placed !== row && !leaves(placed)) moved.rows.push({ row: placed, origin: originOf(deviceId, placed) })
      onRow(placed)
      placedToMs = row.tsMs
    }
    yield moved
    if (resumeAtMs === undefined) return
    fromMs = resumeAtMs
  }
}
