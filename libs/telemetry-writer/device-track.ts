import type { Arrival, StoredCellularRow } from '#questdb/device-tracks'
import { maxInterpolation } from '#telemetry/align'
import { maxDirectionAgeMs } from '#telemetry/curve'
import {
  createDeviceAlignment,
  type DeviceAlignment,
  initialAlignmentState,
  type TimeRange,
} from '#telemetry/device-alignment'
import type { DistinctFix, FixReport } from '#telemetry/distinct-fixes'
import { type DeviceClass, type Dwell, type DwellPolicy, dwellPolicies, isFreshStart } from '#telemetry/dwell'
import { distanceM } from '#telemetry/geo'
import type { RowOrigin } from '#telemetry/ilp'
import type { CellularRow } from '#telemetry/rows'
import { type DwellRow, dwellRow } from './dwell-row.ts'
import type { Slices } from './realign-range.ts'

/** Whose device it was when fixes came in, and the newest of them. */
type Owner = Arrival & { newestFixMs: number }

/** Where a device is and was, as far as its RF rows need it. */
export type DeviceTrack = {
  deviceClass: DeviceClass
  alignment: DeviceAlignment
  /** Where the device was before what is in memory, until it is known whether that matters. */
  past: { tsMs: number; lat: number; lon: number } | undefined
  /** Times whose rows are to be aligned again from what is stored; few and disjoint. */
  dirty: TimeRange[]
  /** The work on ranges that were dirty, begun and not ended. */
  realigning: Slices<void> | undefined
  /** How often in a row that work has failed. */
  realignFailures: number
  /** Grows with every report. */
  revision: number
  /** The alignment is being made anew from storage: from when on, and how far that is. */
  rebuilding: Rebuilding | undefined
  /** The open stay as it was last written. */
  written: { arrivedAtMs: number; lastInsideAtMs: number } | undefined
  /** The open stay as far as it has grown since then. */
  unwritten: TimeRange | undefined
  /** When the open stay was last aligned again because its device was quiet. */
  settledAtMs: number
  owner: Owner | undefined
  /** Before the last transfer. */
  previousOwner: Owner | undefined
}

/** `lateFromMs`: the oldest fix that arrived for a time that was done already. */
type Rebuilding = { fromMs: number; scannedToMs: number; placedToMs: number; lateFromMs: number }

export type TrackStep = { rows: StoredCellularRow[]; dwells: { row: DwellRow; origin: RowOrigin }[] }

/** `knownFromMs`: what is older is not in memory, and rows that arrive for it are aligned from what is stored. */
export const createDeviceTrack = (deviceClass: DeviceClass, knownFromMs = 0): DeviceTrack => ({
  deviceClass,
  alignment: createDeviceAlignment(dwellPolicies[deviceClass], { ...initialAlignmentState, knownFromMs }),
  past: undefined,
  dirty: [],
  realigning: undefined,
  realignFailures: 0,
  revision: 0,
  rebuilding: undefined,
  written: undefined,
  unwritten: undefined,
  settledAtMs: 0,
  owner: undefined,
  previousOwner: undefined,
})

/** An open stay only grows; readers are content with its newest minute. */
const rewriteOpenAfterMs = 60_000
const maxDirtyRanges = 16
const quietMs = 20_000

/**
 * Takes one report's fixes and RF rows. Returns the rows to write, earlier ones that are placed better now included,
 * and the stays that began, grew or ended.
 */
export function advanceTrack(
  track: DeviceTrack,
  origin: RowOrigin,
  reports: readonly FixReport[],
  samples: readonly StoredCellularRow[],
): TrackStep {
  const { deviceId } = origin
  const { rows: moved, closed, open, dirty } = track.alignment.apply(reports, samples)
  const rows = track.rebuilding ? withoutPlaced(moved, samples, track.rebuilding) : moved
  track.revision += 1
  if (track.rebuilding) noteLate(track, track.rebuilding, { reports, samples, dirty })
  else for (const range of dirty) markDirty(track, range)
  noteOwner(track, origin, reports)
  const stays = [...closed]
  track.unwritten = undefined
  if (open !== null) {
    const { arrivedAtMs, lastInsideAtMs } = open
    if (isWorthWriting(track, open)) {
      track.written = { arrivedAtMs, lastInsideAtMs }
      stays.push(open)
    } else if (track.written?.lastInsideAtMs !== lastInsideAtMs) {
      track.unwritten = { fromMs: arrivedAtMs, toMs: lastInsideAtMs }
    }
  }
  const dwells = stays.map((dwell) => ({
    row: dwellRow(deviceId, dwell),
    origin: { deviceId, ...ownerAt(track, dwell.arrivedAtMs, origin) },
  }))
  // Alignment returns the rows it was given with another position, so they still say where they came from.
  return { rows: rows as StoredCellularRow[], dwells }
}

/** Notes whose device it was when these fixes came in. */
export function noteOwner(
  track: DeviceTrack,
  { organizationId, receivedAtMs }: Arrival,
  reports: readonly { tsMs: number }[],
): void {
  if (reports.length === 0) return
  const { owner } = track
  if (owner && owner.organizationId !== organizationId) track.previousOwner = owner
  const before = owner?.organizationId === organizationId ? owner.newestFixMs : 0
  const newestFixMs = reports.reduce((newest, { tsMs }) => Math.max(newest, tsMs), before)
  track.owner = { organizationId, receivedAtMs, newestFixMs }
}

/** A stay stays with who owned the device when it arrived, also when it goes on after a transfer. */
function ownerAt({ previousOwner }: DeviceTrack, arrivedAtMs: number, now: Arrival): Arrival {
  const { organizationId, receivedAtMs } =
    previousOwner && arrivedAtMs <= previousOwner.newestFixMs ? previousOwner : now
  return { organizationId, receivedAtMs }
}

/**
 * Notes an open stay whose row or whose RF rows lag behind it, once its device is quiet. That reads all of the stay back,
 * so it happens again only when the stay may have doubled. Says whether it did.
 */
export function settleWhenQuiet(track: DeviceTrack, heardAtMs: number, nowMs: number): boolean {
  if (nowMs - heardAtMs < quietMs) return false
  const range = track.alignment.unsettled() ?? track.unwritten
  if (!range || nowMs - track.settledAtMs < range.toMs - range.fromMs) return false
  markDirty(track, range)
  track.alignment.settled()
  track.unwritten = undefined
  track.settledAtMs = nowMs
  return true
}

/**
 * Has a device worked through again from its first fix in memory on, if what came before that fix matters: the device may
 * have stood there all the time, or its way to or from that fix depends on the past one. Says whether it did.
 */
export function askForPast(track: DeviceTrack): boolean {
  const first = track.past && track.alignment.firstFix()
  if (!track.past || !first) return false
  const matters = mattersTo(first, track.past, dwellPolicies[track.deviceClass])
  track.past = undefined
  if (!matters) return false
  const fromMs = first.firstReportMs
  track.alignment.distrust(fromMs)
  markDirty(track, { fromMs, toMs: fromMs })
  return true
}

/** Whether the position before a fix has a part in a dwell, in the rows between the two, or in those after the fix. */
function mattersTo(first: DistinctFix, past: NonNullable<DeviceTrack['past']>, policy: DwellPolicy): boolean {
  const apartMs = first.timeMs - past.tsMs
  const isOnWay = apartMs <= maxInterpolation.ms && distanceM(past, first) <= maxInterpolation.metres
  return isOnWay || apartMs <= maxDirectionAgeMs || !isFreshStart(past, first, policy)
}

/**
 * While an alignment is being made anew, the old one finds everything dirty. Only what belongs to times that are done
 * already is: the rest is read from storage when its time comes.
 */
function noteLate(
  track: DeviceTrack,
  rebuilding: Rebuilding,
  step: { reports: readonly FixReport[]; samples: readonly { tsMs: number }[]; dirty: readonly TimeRange[] },
): void {
  for (const { tsMs, fixTs } of step.reports) {
    if (tsMs > rebuilding.scannedToMs) continue
    const fromMs = Math.min(fixTs ?? tsMs, tsMs)
    rebuilding.lateFromMs = Math.min(rebuilding.lateFromMs, fromMs)
    markDirty(track, { fromMs, toMs: tsMs })
  }
  for (const { tsMs } of step.samples)
    if (tsMs >= rebuilding.fromMs && tsMs <= rebuilding.placedToMs) markDirty(track, { fromMs: tsMs, toMs: tsMs })
  for (const range of step.dirty) if (range.toMs < rebuilding.fromMs) markDirty(track, range)
}

/** The old alignment lacks late fixes: it must not move rows again that the new one has placed and goes on with. */
function withoutPlaced(
  moved: readonly CellularRow[],
  samples: readonly CellularRow[],
  { fromMs, placedToMs }: Rebuilding,
): CellularRow[] {
  const fresh = new Set(samples.map(({ tsMs }) => tsMs))
  return moved.filter(({ tsMs }) => tsMs < fromMs || tsMs > placedToMs || fresh.has(tsMs))
}

/** Notes a time to be aligned again. The ranges closest to each other become one when there are too many. */
export function markDirty(track: DeviceTrack, range: TimeRange): void {
  let merged = range
  const apart = track.dirty.filter((known) => {
    const isApart = known.toMs < merged.fromMs || known.fromMs > merged.toMs
    if (!isApart) merged = hull(known, merged)
    return isApart
  })
  apart.push(merged)
  track.dirty = apart.length > maxDirtyRanges ? withClosestJoined(apart) : apart
}

function withClosestJoined(ranges: readonly TimeRange[]): TimeRange[] {
  const sorted = [...ranges].sort((a, b) => a.fromMs - b.fromMs)
  let [closest, leastMs] = [1, Number.POSITIVE_INFINITY]
  for (let index = 1; index < sorted.length; index++) {
    const apartMs = (sorted[index]?.fromMs ?? 0) - (sorted[index - 1]?.toMs ?? 0)
    if (apartMs < leastMs) [closest, leastMs] = [index, apartMs]
  }
  return [
    ...sorted.slice(0, closest - 1),
    sorted.slice(closest - 1, closest + 1).reduce(hull),
    ...sorted.slice(closest + 1),
  ]
}

const hull = (a: TimeRange, b: TimeRange): TimeRange => ({
  fromMs: Math.min(a.fromMs, b.fromMs),
  toMs: Math.max(a.toMs, b.toMs),
})

function isWorthWriting({ written }: DeviceTrack, open: Dwell): boolean {
  if (written?.arrivedAtMs !== open.arrivedAtMs) return true
  return open.lastInsideAtMs - written.lastInsideAtMs >= rewriteOpenAfterMs
}
