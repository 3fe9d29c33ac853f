import type { TrackStore } from '#questdb/writer/track-store'
import { alignReport } from '#telemetry/position/align-report'
import {
  copyAlignment,
  createDeviceAlignment,
  type DeviceAlignment,
  type TimeRange,
  undecidedDwellMs,
} from '#telemetry/position/device-alignment'
import { type Dwell, dwellPolicies } from '#telemetry/position/dwell'
import type { RadioRow } from '#telemetry/rows/radio-row'
import {
  advanceRebuild,
  cancelRebuild,
  type DeviceTrack,
  finishRebuild,
  learnServices,
  markDirty,
  startRebuild,
  takeDirty,
} from '#telemetry-writer/tracks/device-track'
import {
  collectOrigins,
  findStart,
  longestReachMs,
  nothing,
  originOf,
  placeRows,
  type Slices,
  scanFixes,
} from '#telemetry-writer/tracks/realign-range'
import { rewriteDwells, rewriteDwellsNow } from './realign-dwells.ts'

type Task = { store: TrackStore; deviceId: string; track: DeviceTrack }

/**
 * Aligns a device's dirty ranges again from storage, slice by slice. At the start of each slice, storage must include
 * all data that the track has received. If the track had to leave late fixes out, its alignment is rebuilt too. After an
 * error the ranges are dirty again.
 */
export async function* realignDevice(task: Task): Slices<void> {
  const { track } = task
  const { staleFromMs } = track.alignment
  const ranges = takeDirty(track)
  try {
    let rebuiltFromMs = Number.POSITIVE_INFINITY
    if (staleFromMs !== null) rebuiltFromMs = yield* rebuild(task, staleFromMs)
    for (const range of ranges) if (range.fromMs < rebuiltFromMs) yield* realignRange(task, range)
  } catch (error) {
    for (const range of ranges) markDirty(track, range)
    throw error
  } finally {
    cancelRebuild(track)
  }
}

/** Realigns a range that has data on both sides or ends at the newest fix that the track has included. */
async function* realignRange({ store, deviceId, track }: Task, range: TimeRange): Slices<void> {
  const policy = dwellPolicies[track.deviceClass]
  const reachToMs = range.toMs + longestReachMs
  const start = yield* findStart(store, policy, range)
  const scanned = yield* scanFixes(store, policy, range, { start, reachToMs })
  const { scan } = scanned
  const revision = track.revision
  const rows = { fromMs: start.rowsFromMs, toMs: Math.min(scan.rowsToMs(), reachToMs) }
  const found = { dwells: scan.dwells(), origins: scanned.origins }
  const undecidedMs = scan.undecidedDwellMs()
  const newest = { fromMs: Math.max(undecidedMs, rows.fromMs), toMs: rows.toMs }
  yield { rows: [], dwells: await rewriteDwellsNow(store, deviceId, newest, found) }
  yield* rewriteDwells(store, deviceId, { fromMs: rows.fromMs, toMs: Math.min(rows.toMs, undecidedMs - 1) }, found)
  yield* placeRows(store, {
    deviceId,
    scanned,
    rows,
    fixesToMs: reachToMs,
    onRow: () => {},
    onServices: (serviceOf) => learnServices(track, serviceOf),
    // A report may have decided the dwell in the meantime: leave these rows to the next realignment.
    leaves: ({ tsMs, alignment }) => {
      const isLeft = !scan.isClosed() && track.revision !== revision && tsMs >= undecidedMs && alignment !== 'dwell'
      if (isLeft) markDirty(track, { fromMs: tsMs, toMs: tsMs })
      return isLeft
    },
  })
}

/**
 * Rebuilds the track's alignment from storage, starting at a late fix. Data that arrives during the rebuild is read from
 * storage at the end. Data that arrives for times already scanned or placed makes them dirty again. Returns the time of
 * the first row that the rebuild placed.
 */
async function* rebuild({ store, deviceId, track }: Task, staleFromMs: number): Slices<number> {
  const policy = dwellPolicies[track.deviceClass]
  const { pageSizes: pages } = store
  const range = { fromMs: staleFromMs, toMs: Number.POSITIVE_INFINITY }
  // During the rebuild, the old alignment still writes dwells from this time on.
  const writtenFromMs = Math.min(undecidedDwellMs(track.alignment), track.written?.arrivedAtMs ?? Infinity)
  let scannedToMs = staleFromMs - 1
  startRebuild(track, staleFromMs)
  const start = yield* findStart(store, policy, range)
  // The late fix also moves rows before it, so rows that arrive late for that time must be marked dirty as well.
  let placedToMs = start.rowsFromMs - 1
  advanceRebuild(track, { fromMs: start.rowsFromMs, placedToMs })
  const scanned = yield* scanFixes(store, policy, range, {
    start,
    reachToMs: range.toMs,
    onPage: (lastTsMs) => {
      scannedToMs = Math.max(scannedToMs, lastTsMs)
      advanceRebuild(track, { scannedToMs })
    },
  })
  const revision = track.revision
  const found = scanned.scan.dwells()
  const undecidedMs = Math.min(writtenFromMs, scanned.scan.undecidedDwellMs())
  const decided = { fromMs: start.rowsFromMs, toMs: undecidedMs - 1 }
  yield* rewriteDwells(store, deviceId, decided, { dwells: found, origins: scanned.origins })
  const kept: KeptRows = { rows: [], droppedUntilMs: 0 }
  yield* placeRows(store, {
    deviceId,
    scanned,
    rows: { fromMs: start.rowsFromMs, toMs: range.toMs },
    fixesToMs: scanned.scan.newestReportMs(),
    onRow: (row) => {
      keep(kept, row)
      placedToMs = Math.max(placedToMs, row.tsMs)
      advanceRebuild(track, { placedToMs })
    },
    onServices: (serviceOf) => learnServices(track, serviceOf),
    leaves: () => false,
  })

  // The last slice ends with the new alignment in place, so it must read all data that the track has received.
  const alignment = withRows(scanned.scan.alignment, found.at(-1), kept)
  const ended = found.filter(({ departedAtMs }) => departedAtMs !== null)
  let open = alignReport(alignment, policy, [], []).open
  let moved = nothing()
  for (let caughtUp = track.revision === revision; !caughtUp; ) {
    const reports = await store.fixes({ fromMs: scannedToMs + 1, toMs: range.toMs }, pages.fixes)
    const rows = await store.rows({ fromMs: placedToMs + 1, toMs: range.toMs }, pages.rows)
    scannedToMs = reports.at(-1)?.tsMs ?? scannedToMs
    placedToMs = rows.at(-1)?.tsMs ?? placedToMs
    advanceRebuild(track, { scannedToMs, placedToMs })
    const step = alignReport(alignment, policy, reports, rows)
    const unmoved = new Set(rows)
    for (const row of step.rows) if (!unmoved.has(row)) moved.rows.push({ row, origin: originOf(deviceId, row) })
    for (const dirty of step.dirty) markDirty(track, dirty)
    ended.push(...step.closed)
    open = step.open
    collectOrigins(scanned.origins, open === null ? step.closed : [...step.closed, open], reports, false)
    caughtUp = reports.length < pages.fixes && rows.length < pages.rows
    if (caughtUp) break
    yield moved
    moved = nothing()
  }
  const newest = { fromMs: Math.max(undecidedMs, start.rowsFromMs), toMs: range.toMs }
  const dwells = open === null ? ended : [...ended, open]
  moved.dwells = await rewriteDwellsNow(store, deviceId, newest, { dwells, origins: scanned.origins })
  finishRebuild(track, alignment, open)
  yield moved
  return start.rowsFromMs
}

type KeptRows = { rows: RadioRow[]; droppedUntilMs: number }

/** More rows than an alignment keeps in memory. Above the maximum, the oldest are dropped together. */
const keptAtMost = 2_000
const keptAtLeast = 600

function keep(kept: KeptRows, row: RadioRow): void {
  kept.rows.push(row)
  if (kept.rows.length < keptAtMost) return
  const dropped = kept.rows.length - keptAtLeast
  kept.droppedUntilMs = kept.rows[dropped - 1]?.tsMs ?? 0
  kept.rows = kept.rows.slice(dropped)
}

/** Returns the alignment after the scan with the newest rows, which are placed already. */
function withRows(scanned: DeviceAlignment<never>, last: Dwell | undefined, kept: KeptRows): DeviceAlignment<RadioRow> {
  const isInOpenDwell = ({ alignment, tsMs }: RadioRow) =>
    last?.departedAtMs === null && alignment === 'dwell' && tsMs >= last.arrivedAtMs
  const { knownFromMs } = scanned
  // Rows from before the fixes in memory cannot be placed again from them.
  const droppedAt = kept.rows.findLast(({ tsMs }) => tsMs < knownFromMs)?.tsMs ?? 0
  const alignment = createDeviceAlignment<RadioRow>()
  const rows = kept.rows.filter(({ tsMs }) => tsMs >= knownFromMs)
  copyAlignment(scanned, alignment, rows)
  alignment.droppedUntilMs = Math.max(scanned.droppedUntilMs, kept.droppedUntilMs, droppedAt)
  alignment.openDwellRows = kept.rows.some(isInOpenDwell) ? 'settled' : 'none'
  return alignment
}
