import type { Arrival } from '#questdb/writer/device-tracks'
import { distanceM } from '#telemetry/geo/geo'
import { maxInterpolation } from '#telemetry/position/align'
import { alignReport } from '#telemetry/position/align-report'
import { maxTrailing } from '#telemetry/position/alignment-limits'
import { maxDirectionAgeMs } from '#telemetry/position/curve'
import {
  createDeviceAlignment,
  type DeviceAlignment,
  distrust,
  distrustOpenDwell,
  noteSettled,
  type TimeRange,
  unsettledRows,
} from '#telemetry/position/device-alignment'
import type { DistinctFix, FixReport } from '#telemetry/position/distinct-fixes'
import { type DeviceClass, type Dwell, type DwellPolicy, dwellPolicies, isFreshStart } from '#telemetry/position/dwell'
import { startWithin } from '#telemetry/position/dwell-detector'
import { fixListOf, fixOf, fixReportedBy } from '#telemetry/position/fix-list'
import {
  findLostOperators,
  type LostOperatorPass,
  learnService,
  type ModemService,
  noteSim,
  renewLostOperators,
  type SimUse,
} from '#telemetry/position/lost-operator'
import type { RowOrigin } from '#telemetry/rows/ilp'
import type { RadioRow } from '#telemetry/rows/radio-row'
import { addDirtyRange } from './dirty-ranges.ts'
import { type DwellRow, dwellRow } from './dwell-row.ts'
import type { Slices } from './realign-range.ts'
import { noteLateData, type Rebuilding, rebuildingFrom, withoutPlaced } from './rebuilding.ts'
import { noReports, quietAfterMs, type ReportInterval, withReport } from './report-interval.ts'
import { noOwners, type Owners, ownerAt, withFixes } from './track-owners.ts'
import type { StoredWithin } from './within-dwell.ts'
import { isWorthWriting, versionOf, type WrittenDwell } from './written-dwell.ts'

type Position = { tsMs: number; lat: number; lon: number }

/** The state that aligns a device's RF rows. Only the functions of this module change it. */
export type DeviceTrack = {
  readonly deviceClass: DeviceClass
  readonly alignment: DeviceAlignment<RadioRow>
  /** The last position before the fixes in memory. Undefined after `askForPast` has used it. */
  readonly past: Position | undefined
  /** Times whose rows must be aligned again from storage: few and disjoint. */
  readonly dirty: readonly TimeRange[]
  /** The unfinished realignment of ranges that were dirty. */
  readonly realigning: Slices<void> | undefined
  /** The number of consecutive failures of the realignment. */
  readonly realignFailures: number
  /** Increases with every report. */
  readonly revision: number
  /** The progress of replacing the alignment from storage. */
  readonly rebuilding: Readonly<Rebuilding> | undefined
  /** The open dwell as last written. */
  readonly written: WrittenDwell | undefined
  /** The open dwell if it has grown since it was written. */
  readonly unwritten: TimeRange | undefined
  /** When the open dwell was last marked dirty because its device was quiet. */
  readonly settledAtMs: number
  readonly interval: ReportInterval
  readonly owners: Owners
  /** The newest service of each modem. */
  readonly services: readonly ModemService[]
}

export type MutableTrack = { -readonly [Name in keyof DeviceTrack]: DeviceTrack[Name] } & {
  rebuilding: Rebuilding | undefined
  services: ModemService[]
}

export type TrackStep = {
  rows: RadioRow[]
  dwells: { row: DwellRow; origin: RowOrigin }[]
  /** Whether the device dwells after the report. */
  isDwelling: boolean
}

/**
 * Creates a track without data. Fixes and rows older than `knownFromMs` are not in memory: rows that arrive for that
 * time are aligned from storage.
 */
export const createDeviceTrack = (deviceClass: DeviceClass, knownFromMs = 0): DeviceTrack =>
  emptyTrack(deviceClass, knownFromMs)

const emptyTrack = (deviceClass: DeviceClass, knownFromMs: number): MutableTrack => ({
  deviceClass,
  alignment: createDeviceAlignment(knownFromMs),
  past: undefined,
  dirty: [],
  realigning: undefined,
  realignFailures: 0,
  revision: 0,
  rebuilding: undefined,
  written: undefined,
  unwritten: undefined,
  settledAtMs: 0,
  interval: noReports,
  owners: noOwners,
  services: [],
})

/** Every track is created by `emptyTrack`, so that this module may change it, and the one that unpacks it. */
export const own = (track: DeviceTrack): MutableTrack => track as MutableTrack

/** Discards everything the track knows. */
export function resetTrack(track: DeviceTrack, knownFromMs: number): void {
  Object.assign(own(track), emptyTrack(track.deviceClass, knownFromMs))
}

/**
 * Takes one report's fixes and RF rows. Returns the rows to write, including earlier rows with a better position, and
 * the dwells that began, grew or ended.
 */
export function advanceTrack(
  track: DeviceTrack,
  origin: RowOrigin,
  reports: readonly FixReport[],
  samples: readonly RadioRow[],
): TrackStep {
  const { deviceId } = origin
  const state = own(track)
  const uncertain = findLostOperators(state.services, samples)
  const policy = dwellPolicies[state.deviceClass]
  const { rows: moved, closed, open, dirty } = alignReport(state.alignment, policy, reports, samples)
  // A row without a position counts nowhere.
  if (hasFixes(state))
    for (const range of [...uncertain, ...renewLostOperators(state.services, moved)]) markDirty(state, range)
  const rows = state.rebuilding ? withoutPlaced(state.rebuilding, moved, samples) : moved
  state.revision += 1
  const again = state.rebuilding ? noteLateData(state.rebuilding, { reports, samples, dirty }) : dirty
  for (const range of again) markDirty(state, range)
  state.owners = withFixes(state.owners, origin, reports)
  state.interval = withReport(state.interval, origin.receivedAtMs)
  const changed = [...closed]
  state.unwritten = undefined
  if (open !== null) {
    const { arrivedAtMs, lastInsideAtMs } = open
    if (isWorthWriting(state.written, open)) {
      state.written = versionOf(open)
      changed.push(open)
    } else if (state.written?.lastInsideAtMs !== lastInsideAtMs) {
      state.unwritten = { fromMs: arrivedAtMs, toMs: lastInsideAtMs }
    }
  }
  const dwells = changed.map((dwell) => ({
    row: dwellRow(deviceId, dwell),
    origin: { deviceId, ...ownerAt(state.owners, dwell.arrivedAtMs, origin) },
  }))
  return { rows, dwells, isDwelling: open !== null }
}

/** Notes the SIMs that a report's `connection` samples tell. */
export function noteSims(track: DeviceTrack, uses: readonly (SimUse & { modem: string | null })[]): void {
  const { services } = own(track)
  for (const { modem, ...use } of uses) {
    const late = noteSim(services, modem, use)
    // A row without a position counts nowhere.
    if (late && hasFixes(track)) markDirty(track, late)
  }
}

/** Takes what storage tells about the modems. */
export function learnServices(track: DeviceTrack, storedOf: LostOperatorPass['serviceOf']): void {
  for (const service of own(track).services) {
    const stored = storedOf(service.modem)
    if (stored) learnService(service, stored)
  }
}

/** Adds a range to align again from storage. */
export function markDirty(track: DeviceTrack, range: TimeRange): void {
  own(track).dirty = addDirtyRange(track.dirty, range)
}

/**
 * Marks the open dwell dirty if its row or its RF rows are out of date and the device is quiet for longer than its reports
 * are usually apart. Realigning reads the whole dwell, so this happens again only after the dwell may have doubled. Returns
 * whether it marked the dwell.
 */
export function settleWhenQuiet(track: DeviceTrack, heardAtMs: number, nowMs: number): boolean {
  const state = own(track)
  const range = outdated(state)
  if (!range || nowMs < settleDueMs(state, heardAtMs)) return false
  markDirty(state, range)
  noteSettled(state.alignment)
  state.unwritten = undefined
  state.settledAtMs = nowMs
  return true
}

/**
 * Returns when `settleWhenQuiet` marks the open dwell if no report arrives before. Infinity if never, and -Infinity if
 * `askForPast` would request a rebuild now.
 */
export function settleDueMs(track: DeviceTrack, heardAtMs: number): number {
  if (fixAfterPast(track)) return Number.NEGATIVE_INFINITY
  const range = outdated(track)
  if (!range) return Number.POSITIVE_INFINITY
  return Math.max(heardAtMs + quietAfterMs(track.interval), track.settledAtMs + range.toMs - range.fromMs)
}

const outdated = (track: DeviceTrack): TimeRange | undefined => unsettledRows(track.alignment) ?? track.unwritten

/** Sets the last position before the fixes in memory. */
export function setPast(track: DeviceTrack, past: Position | undefined): void {
  own(track).past = past
}

/**
 * Requests a rebuild from the first fix in memory if the past position affects it: the device may have dwelt there
 * before, or its path to or from that fix depends on the past position. Returns whether it requested a rebuild.
 */
export function askForPast(track: DeviceTrack): boolean {
  const state = own(track)
  const first = fixAfterPast(state)
  if (hasFixes(state)) state.past = undefined
  if (!first) return false
  const fromMs = first.firstReportMs
  distrust(state.alignment, fromMs)
  markDirty(state, { fromMs, toMs: fromMs })
  return true
}

const hasFixes = ({ alignment }: DeviceTrack): boolean => alignment.fixes.length > 0

/** The fix in memory that was reported last at or before this time. */
export function fixAt({ alignment: { fixes } }: DeviceTrack, tsMs: number): DistinctFix | undefined {
  const fix = fixReportedBy(fixes, tsMs)
  return fix < 0 ? undefined : fixOf(fixes, fix)
}

/** The first fix in memory if the past position affects it. */
function fixAfterPast(track: DeviceTrack): DistinctFix | undefined {
  const { past, alignment, deviceClass } = track
  if (!past || !hasFixes(track)) return undefined
  const first = fixOf(alignment.fixes, 0)
  return affects(first, past, dwellPolicies[deviceClass]) ? first : undefined
}

/** Starts an empty track behind its past position. RF rows close to that position are aligned from storage. */
export function startAfterPast(track: DeviceTrack, past: Position): void {
  own(track).alignment = createDeviceAlignment(past.tsMs + maxInterpolation.ms)
}

export type StoredTrack = {
  knownFromMs: number
  reports: readonly (FixReport & Arrival)[]
  rows: readonly RadioRow[]
  /** The state after the older reports, if it is known. */
  within?: StoredWithin<FixReport>
}

/** Restores the track from the newest stored fixes and rows, both ordered by time. */
export function restoreTrack(track: DeviceTrack, { knownFromMs, reports, rows, within }: StoredTrack): void {
  const state = own(track)
  const alignment = createDeviceAlignment<RadioRow>(knownFromMs)
  if (within) {
    alignment.fixes = fixListOf(within.fixes)
    alignment.newestReportMs = within.summary.lastInsideAtMs
    startWithin(alignment.dwell, within.summary, alignment.fixes)
  }
  // So many rows may not be all of them.
  if (rows.length > maxTrailing) alignment.droppedUntilMs = rows[0]?.tsMs ?? 0
  state.alignment = alignment
  for (const report of reports) {
    state.owners = withFixes(state.owners, report, [report])
    state.interval = withReport(state.interval, report.receivedAtMs)
  }
  const policy = dwellPolicies[track.deviceClass]
  const { dirty, open } = alignReport(alignment, policy, within?.newer ?? reports, rows)
  for (const range of dirty) markDirty(state, range)
  if (!open) return
  state.written = versionOf(open)
  // The stored rows of the open dwell may lag behind its newest fixes. Realign them when the device is quiet or departs.
  distrustOpenDwell(alignment)
}

/** Takes over the unfinished realignments of a track that this one replaces. */
export function inheritDirty(track: DeviceTrack, replaced: DeviceTrack, receivedBeforeMs: number): void {
  const { staleFromMs } = replaced.alignment
  if (staleFromMs !== null) {
    distrust(track.alignment, staleFromMs)
    markDirty(track, { fromMs: staleFromMs, toMs: receivedBeforeMs })
  }
  for (const range of replaced.dirty) markDirty(track, range)
}

/** True when the track has rows to realign. */
export const hasWork = ({ dirty, realigning }: DeviceTrack): boolean => dirty.length > 0 || realigning !== undefined

/** Whether the track waits for its next report only. */
export const isIdle = (track: DeviceTrack): boolean => !hasWork(track) && track.rebuilding === undefined

/** Forgets the past position once it can no longer affect anything. */
export function forgetSettledPast(track: DeviceTrack): void {
  if (track.past && hasFixes(track) && !fixAfterPast(track)) own(track).past = undefined
}

/** Removes and returns all dirty ranges. */
export function takeDirty(track: DeviceTrack): readonly TimeRange[] {
  const ranges = track.dirty
  own(track).dirty = []
  return ranges
}

/** Returns the unfinished realignment. Without one, starts the realignment that `create` returns. */
export function continueRealignment(track: DeviceTrack, create: () => Slices<void>): Slices<void> {
  const state = own(track)
  state.realigning ??= create()
  return state.realigning
}

/** Ends a realignment that succeeded. */
export function finishRealignment(track: DeviceTrack): void {
  Object.assign(own(track), { realigning: undefined, realignFailures: 0 })
}

/**
 * Ends a realignment that failed. After `maxFailures` consecutive failures, gives up: the rows keep the positions they
 * were first written with, and the alignment starts without data. Returns whether it gave up.
 */
export function failRealignment(track: DeviceTrack, maxFailures: number, nowMs: number): boolean {
  const state = own(track)
  state.realigning = undefined
  state.realignFailures += 1
  if (state.realignFailures < maxFailures) return false
  Object.assign(state, { dirty: [], realignFailures: 0, alignment: createDeviceAlignment(nowMs) })
  return true
}

/** Starts to replace the alignment from `fromMs` on. From now on, late data is only marked dirty where it was scanned. */
export function startRebuild(track: DeviceTrack, fromMs: number): void {
  own(track).rebuilding = rebuildingFrom(fromMs)
}

/** Records how far a rebuild has come. */
export function advanceRebuild(track: DeviceTrack, progress: Partial<Omit<Rebuilding, 'lateFromMs'>>): void {
  const { rebuilding } = own(track)
  if (rebuilding) Object.assign(rebuilding, progress)
}

/** Replaces the alignment with the rebuilt one, whose open dwell is already written. */
export function finishRebuild(track: DeviceTrack, alignment: DeviceAlignment<RadioRow>, open: Dwell | null): void {
  const state = own(track)
  const lateFromMs = state.rebuilding?.lateFromMs ?? Infinity
  if (lateFromMs !== Infinity) distrust(alignment, lateFromMs)
  state.alignment = alignment
  state.written = open === null ? undefined : versionOf(open)
  state.unwritten = undefined
  state.rebuilding = undefined
}

/** Keeps the current alignment when a rebuild ends without a result. Does nothing if none is running. */
export function cancelRebuild(track: DeviceTrack): void {
  own(track).rebuilding = undefined
}

/** Returns whether the past position affects a dwell, the rows between it and the fix, or the rows after the fix. */
function affects(first: DistinctFix, past: Position, policy: DwellPolicy): boolean {
  const apartMs = first.timeMs - past.tsMs
  const isOnPath = apartMs <= maxInterpolation.ms && distanceM(past, first) <= maxInterpolation.metres
  return isOnPath || apartMs <= maxDirectionAgeMs || !isFreshStart(past, first, policy)
}
