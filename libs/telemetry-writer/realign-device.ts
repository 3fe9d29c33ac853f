import type { StoredCellularRow } from '#questdb/device-tracks'
import type { TrackStore } from '#questdb/track-store'
import { createDeviceAlignment, type DeviceAlignmentState, type TimeRange } from '#telemetry/device-alignment'
import { type Dwell, dwellPolicies } from '#telemetry/dwell'
import type { CellularRow } from '#telemetry/rows'
import { type DeviceTrack, markDirty } from './device-track.ts'
import { rewriteDwells, rewriteDwellsNow } from './realign-dwells.ts'
import {
  findStart,
  longestReachMs,
  noteOrigins,
  nothing,
  originOf,
  placeRows,
  type Slices,
  scanFixes,
} from './realign-range.ts'

type Task = { store: TrackStore; deviceId: string; track: DeviceTrack }

/**
 * Aligns a device's dirty ranges anew from what is stored, slice by slice; what is stored must include everything the
 * track has seen when a slice begins. Brings the track itself up to date when it had to leave late fixes out. When it
 * fails, the ranges are dirty again.
 */
export async function* realignDevice(task: Task): Slices<void> {
  const { track } = task
  const staleFromMs = track.alignment.staleFromMs()
  const ranges = track.dirty
  track.dirty = []
  try {
    let rebuiltFromMs = Number.POSITIVE_INFINITY
    if (staleFromMs !== null) rebuiltFromMs = yield* rebuild(task, staleFromMs)
    for (const range of ranges) if (range.fromMs < rebuiltFromMs) yield* realignRange(task, range)
  } catch (error) {
    for (const range of ranges) markDirty(track, range)
    throw error
  } finally {
    track.rebuilding = undefined
  }
}

/** A range with data on both sides, or one that reaches up to the newest fix of a track that knows it. */
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
    // What was undecided may have been decided meanwhile: the next realignment places these rows.
    leaves: ({ tsMs, alignment }) => {
      const isLeft = !scan.isClosed() && track.revision !== revision && tsMs >= undecidedMs && alignment !== 'dwell'
      if (isLeft) markDirty(track, { fromMs: tsMs, toMs: tsMs })
      return isLeft
    },
  })
}

/**
 * Works through everything from a late fix on and makes the track's alignment anew. What arrives meanwhile is taken from
 * storage in the end; what arrives for times that are already done makes them dirty again. Returns where it began.
 */
async function* rebuild({ store, deviceId, track }: Task, staleFromMs: number): Slices<number> {
  const policy = dwellPolicies[track.deviceClass]
  const { pageSizes: pages } = store
  const range = { fromMs: staleFromMs, toMs: Number.POSITIVE_INFINITY }
  // Until it is replaced, the track goes on writing dwells from here on.
  const writtenFromMs = Math.min(track.alignment.undecidedDwellMs(), track.written?.arrivedAtMs ?? Infinity)
  const progress = {
    fromMs: staleFromMs,
    scannedToMs: staleFromMs - 1,
    placedToMs: staleFromMs - 1,
    lateFromMs: Infinity,
  }
  track.rebuilding = progress
  const start = yield* findStart(store, policy, range)
  // The late fix also moves rows before it: those that arrive once their time is done have to be noted as well.
  progress.fromMs = start.rowsFromMs
  progress.placedToMs = start.rowsFromMs - 1
  const scanned = yield* scanFixes(store, policy, range, {
    start,
    reachToMs: range.toMs,
    onPage: (lastTsMs) => {
      progress.scannedToMs = Math.max(progress.scannedToMs, lastTsMs)
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
      progress.placedToMs = Math.max(progress.placedToMs, row.tsMs)
    },
    leaves: () => false,
  })

  // Everything up to the new alignment is one slice: what is read here is all that the track has seen.
  const alignment = createDeviceAlignment(policy, withRows(scanned.scan.state(), found.at(-1), kept))
  const ended = found.filter(({ departedAtMs }) => departedAtMs !== null)
  let open = alignment.apply([], []).open
  let moved = nothing()
  for (let caughtUp = track.revision === revision; !caughtUp; ) {
    const reports = await store.fixes({ fromMs: progress.scannedToMs + 1, toMs: range.toMs }, pages.fixes)
    const rows = await store.rows({ fromMs: progress.placedToMs + 1, toMs: range.toMs }, pages.rows)
    progress.scannedToMs = reports.at(-1)?.tsMs ?? progress.scannedToMs
    progress.placedToMs = rows.at(-1)?.tsMs ?? progress.placedToMs
    const step = alignment.apply(reports, rows)
    const stand = new Set<CellularRow>(rows)
    for (const row of step.rows as StoredCellularRow[])
      if (!stand.has(row)) moved.rows.push({ row, origin: originOf(deviceId, row) })
    for (const dirty of step.dirty) markDirty(track, dirty)
    ended.push(...step.closed)
    open = step.open
    noteOrigins(scanned.origins, open === null ? step.closed : [...step.closed, open], reports, false)
    caughtUp = reports.length < pages.fixes && rows.length < pages.rows
    if (caughtUp) break
    yield moved
    moved = nothing()
  }
  const newest = { fromMs: Math.max(undecidedMs, start.rowsFromMs), toMs: range.toMs }
  const dwells = open === null ? ended : [...ended, open]
  moved.dwells = await rewriteDwellsNow(store, deviceId, newest, { dwells, origins: scanned.origins })
  if (progress.lateFromMs !== Number.POSITIVE_INFINITY) alignment.distrust(progress.lateFromMs)
  track.alignment = alignment
  track.written = open === null ? undefined : { arrivedAtMs: open.arrivedAtMs, lastInsideAtMs: open.lastInsideAtMs }
  track.unwritten = undefined
  track.rebuilding = undefined
  yield moved
  return start.rowsFromMs
}

type KeptRows = { rows: StoredCellularRow[]; droppedUntilMs: number }

/** More rows than a device keeps in memory; those before are dropped together. */
const keptAtMost = 2_000
const keptAtLeast = 600

function keep(kept: KeptRows, row: StoredCellularRow): void {
  kept.rows.push(row)
  if (kept.rows.length < keptAtMost) return
  const dropped = kept.rows.length - keptAtLeast
  kept.droppedUntilMs = kept.rows[dropped - 1]?.tsMs ?? 0
  kept.rows = kept.rows.slice(dropped)
}

/** The state after the scan together with the newest rows, which stand where they belong. */
function withRows(state: DeviceAlignmentState, last: Dwell | undefined, kept: KeptRows): DeviceAlignmentState {
  const isInOpenDwell = ({ alignment, tsMs }: CellularRow) =>
    last?.departedAtMs === null && alignment === 'dwell' && tsMs >= last.arrivedAtMs
  // Rows from before the fixes in memory cannot be placed again from them.
  const droppedAt = kept.rows.findLast(({ tsMs }) => tsMs < state.knownFromMs)?.tsMs ?? 0
  return {
    ...state,
    trailing: kept.rows.filter(({ tsMs }) => tsMs >= state.knownFromMs),
    droppedUntilMs: Math.max(state.droppedUntilMs, kept.droppedUntilMs, droppedAt),
    openDwellRows: kept.rows.some(isInOpenDwell) ? 'settled' : 'none',
  }
}
