import type { Arrival, StoredFixReport } from '#questdb/writer/device-tracks'
import type { TrackStore } from '#questdb/writer/track-store'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { Dwell, DwellPolicy } from '#telemetry/position/dwell'
import { createLostOperatorPass, type LostOperatorPass } from '#telemetry/position/lost-operator'
import { createFixScan, createRowPlacer, type FixScan } from '#telemetry/position/realign'
import { createStartSearch, type RealignStart } from '#telemetry/position/realign-start'
import type { RowOrigin } from '#telemetry/rows/ilp'
import type { RadioRow } from '#telemetry/rows/radio-row'
import type { DwellRow } from './dwell-row.ts'

/** Rows to write again, each with its origin. */
export type Realigned = {
  rows: { row: RadioRow; origin: RowOrigin }[]
  dwells: { row: DwellRow; origin: RowOrigin }[]
}

/**
 * Work in slices. Each slice reads a limited amount, and its rows are written before other work changes them. Other work
 * may run between two slices.
 */
export type Slices<Result> = AsyncGenerator<Realigned, Result, void>

/** How far around a dirty range to search for fresh starts. */
export const longestReachMs = 7 * 24 * 60 * 60_000

/** Size of the first page: a moving device usually has a fresh start nearby. */
const nearbyFixes = 200

export const nothing = (): Realigned => ({ rows: [], dwells: [] })

export const originOf = (deviceId: string, { organizationId, receivedAtMs }: Arrival): RowOrigin => ({
  deviceId,
  organizationId,
  receivedAtMs,
})

/**
 * Returns where a realignment of the range begins: at the last fresh start or the first report. If that is too far back, at
 * the arrival of a dwell that was open at the limit, or at a fix.
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
  // Otherwise the rest of a long dwell would become another dwell. Rows after its arrival need no earlier fix, because a
  // dwell of one fix lasts longer than a curve.
  const before = await store.dwellsBackwards(reachFromMs, 100)
  const across = before.find(({ withdrawn }) => !withdrawn)
  if (across && across.lastInsideAtMs >= reachFromMs)
    return { reportsFromMs: across.arrivedAtMs, rowsFromMs: across.arrivedAtMs }
  return search.oldestOfFixes() ?? everything
}

/** The result of the pass over the fixes. */
export type Scanned = {
  scan: FixScan
  start: RealignStart
  /** The origins of new dwells by arrival, as far as the pages contain them. */
  origins: Map<number, Arrival>
  /** All reports, if they fit into one page. */
  singlePage: StoredFixReport[] | undefined
}

/** Reads the fixes from the start to the first fresh start after the range, at most up to `reachToMs`. */
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
    collectOrigins(origins, scan.take(page), page, isFirst)
    const lastTsMs = page.at(-1)?.tsMs
    if (lastTsMs !== undefined) onPage?.(lastTsMs)
    if (scan.isClosed() || page.length < store.pageSizes.fixes || lastTsMs === undefined)
      return { scan, start, origins, singlePage: isFirst ? page : undefined }
    fromMs = lastTsMs + 1
  }
}

/** Collects the origins of new dwells: a dwell belongs to the organization that owned the device at its arrival. */
export function collectOrigins(
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
  /** Fixes after this time were not scanned. */
  fixesToMs: number
  /** Called with every placed row, in order of time. */
  onRow: (placed: RadioRow) => void
  /** Called at the end. */
  onServices: (serviceOf: LostOperatorPass['serviceOf']) => void
  /** Returns whether to skip a moved row. */
  leaves: (placed: RadioRow) => boolean
}

/** Places the rows of a range among the scanned fixes and dwells. Slices contain the rows that moved. */
export async function* placeRows(store: TrackStore, pass: RowPass): Slices<void> {
  const { deviceId, scanned, rows, fixesToMs, onRow, onServices, leaves } = pass
  const operators = createLostOperatorPass()
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
    let resumeAtMs = page.length >= store.pageSizes.rows ? (page.at(-1)?.tsMs ?? 0) + 1 : undefined
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
      if (operators.needsPast(row)) operators.remember(await store.services(rows))
      const placed = operators.place(placer.place(row))
      if (placed !== row && !leaves(placed)) moved.rows.push({ row: placed, origin: originOf(deviceId, placed) })
      onRow(placed)
      placedToMs = row.tsMs
    }
    yield moved
    if (resumeAtMs === undefined) return onServices(operators.serviceOf)
    fromMs = resumeAtMs
  }
}
