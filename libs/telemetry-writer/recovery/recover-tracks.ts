import { maxIds } from '#questdb/server/id-list'
import type { QuestdbSql } from '#questdb/server/sql'
import type { TrackQuery } from '#questdb/writer/device-tracks'
import { readLastPositions } from '#questdb/writer/track-summaries'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import { type DwellPolicy, dwellPolicies } from '#telemetry/position/dwell'
import { firstReportMs } from '#telemetry/position/fix-list'
import { createStartSearch } from '#telemetry/position/realign-start'
import {
  type DeviceTrack,
  resetTrack,
  restoreTrack,
  setPast,
  startAfterPast,
} from '#telemetry-writer/tracks/device-track'
import { planShares, readShare, type StoredPast } from './recovery-reads.ts'
import { groupsOf, limitsAlone } from './recovery-shares.ts'

/** Interpolation and rows that can still change never reach further back than this. */
const lookBackMs = 20 * 60_000

/** While QuestDB reads one group, the tracks of another are restored. */
const groupsAtOnce = 2
/** As many as a statement takes. */
const groupSize = maxIds

export type Recovery = {
  receivedBeforeMs: number
  /** Called when a track cannot be restored from storage. The track then starts without data. */
  onFailure: (deviceId: string, error: unknown) => void
}

/** Tracks that need their last position before a time from storage, by that time. */
type MissingPasts = Map<number, Map<string, DeviceTrack>>

/**
 * Restores the tracks of devices to their state before `receivedBeforeMs` from storage: the newest fixes and RF rows, and
 * all fixes of an open dwell. Reads many devices with few statements and a limited amount at a time, newest first, so that a
 * device with much data does not delay the others.
 */
export async function recoverTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  recovery: Recovery,
): Promise<void> {
  const waiting = groupsOf([...tracks], groupSize).values()
  const recoverNext = async () => {
    for (const group of waiting) await recoverGroup(questdb, new Map(group), recovery)
  }
  await allOf(Array.from({ length: groupsAtOnce }, recoverNext))
}

/** Waits for all, then throws the error of the first that failed. */
async function allOf(running: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(running)) if (result.status === 'rejected') throw result.reason
}

async function recoverGroup(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  { receivedBeforeMs, onFailure }: Recovery,
): Promise<void> {
  const recent = { fromMs: receivedBeforeMs - lookBackMs, toMs: Number.POSITIVE_INFINITY, receivedBeforeMs }
  const policyOf = (deviceId: string) => dwellPolicies[tracks.get(deviceId)?.deviceClass ?? 'vehicle']
  const missing: MissingPasts = new Map()
  for (const share of await planShares(questdb, [...tracks.keys()], recent)) {
    for (const [deviceId, stored] of await readShare(questdb, share, { recent, policyOf })) {
      const track = tracks.get(deviceId)
      if (!track) continue
      let isComplete = false
      try {
        isComplete = recoverTrack(track, stored, recent)
      } catch (error) {
        onFailure(deviceId, error)
        resetTrack(track, receivedBeforeMs)
      }
      if (!isComplete) findPast([deviceId, track], stored, recent, missing)
    }
  }
  for (const [beforeMs, some] of missing) await setStoredPasts(questdb, some, { beforeMs, receivedBeforeMs })
}

/** Restores a track. Returns whether no older data can affect the device's positions. */
function recoverTrack(track: DeviceTrack, stored: StoredPast, recent: TrackQuery): boolean {
  const { reports, rows, within, ofDwell } = stored
  const policy = dwellPolicies[track.deviceClass]
  if (within) {
    restoreTrack(track, { knownFromMs: recent.fromMs, reports, rows, within })
    return true
  }
  const startMs = ofDwell ? ofDwell[0]?.tsMs : oldestStartMs(reports, policy)
  const knownFromMs = startMs ?? (isCut(reports) ? reports[0]?.tsMs : undefined) ?? recent.fromMs
  restoreTrack(track, { knownFromMs, reports: ofDwell ? [...ofDwell, ...reports] : reports, rows })
  return ofDwell !== undefined || startMs !== undefined
}

/** Returns whether the oldest recent fixes were not read. */
const isCut = (reports: readonly FixReport[]): boolean => reports.length >= limitsAlone.fixes

/** Returns the oldest fresh start among the reports. Data before it does not affect positions after it. */
function oldestStartMs(reports: readonly FixReport[], policy: DwellPolicy): number | undefined {
  const search = createStartSearch(policy)
  let startMs: number | undefined
  for (const report of reports.toReversed()) startMs = search.take([report])?.rowsFromMs ?? startMs
  return startMs
}

/** Sets the last position before the fixes in memory if it is among the reports. Otherwise adds the track to `missing`. */
function findPast(
  [deviceId, track]: [string, DeviceTrack],
  { reports }: StoredPast,
  recent: TrackQuery,
  missing: MissingPasts,
): void {
  const { fixes } = track.alignment
  const firstMs = fixes.length > 0 ? firstReportMs(fixes, 0) : Number.POSITIVE_INFINITY
  const past = reports.findLast(({ tsMs }) => tsMs < firstMs)
  if (past) {
    setPast(track, { tsMs: past.tsMs, lat: past.lat, lon: past.lon })
    return
  }
  const beforeMs = (isCut(reports) ? reports[0]?.tsMs : undefined) ?? recent.fromMs
  const some = missing.get(beforeMs) ?? new Map<string, DeviceTrack>()
  missing.set(beforeMs, some.set(deviceId, track))
}

/** Sets the last position of at most `maxIds` tracks before a time. */
async function setStoredPasts(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  times: { beforeMs: number; receivedBeforeMs: number },
): Promise<void> {
  const positions = await readLastPositions(questdb, [...tracks.keys()], times)
  for (const [deviceId, track] of tracks) setPast(track, positions.get(deviceId))
}

/** Starts the tracks of new devices and of devices without recent reports. */
export async function beginTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  for (const group of groupsOf([...tracks], maxIds)) {
    await setStoredPasts(questdb, new Map(group), { beforeMs: Number.POSITIVE_INFINITY, receivedBeforeMs })
    for (const [, track] of group) if (track.past) startAfterPast(track, track.past)
  }
}
