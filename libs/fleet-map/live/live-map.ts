import type { Clock } from '#core/clock'
import { createDwellFeed } from '#fleet-map/live/dwell-feed'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { createRegistryFeed } from '#fleet-map/live/registry-feed'
import { createTelemetryFeed } from '#fleet-map/live/telemetry-feed'
import type { Revisions } from '#fleet-map/revisions'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'

/** The map of one organization, with the feeds that keep it up to date. */
export type LiveMap = {
  /**
   * The map with data since `fromMs`: the currently registered devices, with telemetry that is at most one second old, or
   * five seconds for a large fleet. Refreshes it if necessary.
   */
  read(reader: Reader, fromMs: number): Promise<OrganizationMap>
  /** Refreshes the window that the map covers, unless a refresh is running. Resolves when the map is refreshed. */
  refresh(reader: Reader): Promise<void>
  /** Pause between two refreshes. */
  pauseMs(): number
}

const freshMs = 1_000
const stalestMs = 5_000
// Refreshes use at most this share of the time, so a large fleet is refreshed less often.
const followShare = 0.1
// Readers do not wait for late samples and dwells if reading them takes longer.
const longestWaitForSlowMs = 500

/** Owns when the map was refreshed, and the refreshes that are running. */
export function createLiveMap(
  organizationId: string,
  { pools, clock, revisions }: { pools: FairPool; clock: Clock; revisions: Revisions },
): LiveMap {
  const map = createOrganizationMap(organizationId, revisions)
  const registry = createRegistryFeed(pools.of(`org:${organizationId}`), map)
  const telemetry = createTelemetryFeed(map, clock)
  const dwells = createDwellFeed(map, clock)
  /** Start of the last complete refresh; 0 before the first. */
  let refreshedAtMs = 0
  let refreshing: Promise<void> | undefined
  let refreshingSlow: Promise<void> | undefined
  let hasSlowFailed = false

  const refreshSlowFeeds = async (reader: Reader): Promise<void> => {
    try {
      await telemetry.refreshLateIfDue(reader)
      await dwells.refreshIfDue(reader.questdb)
      hasSlowFailed = false
    } catch (error) {
      hasSlowFailed = true
      throw error
    }
  }
  const refreshSlowOnce = (reader: Reader): Promise<void> => {
    refreshingSlow ??= refreshSlowFeeds(reader).finally(() => {
      refreshingSlow = undefined
    })
    return refreshingSlow
  }
  /** The next refresh waits after a failure, so that its readers get the error. */
  const waitsForSlow = (): boolean =>
    hasSlowFailed || Math.max(telemetry.lateLookMs(), dwells.lookMs()) < longestWaitForSlowMs

  const refreshFeeds = async (reader: Reader, fromMs: number): Promise<void> => {
    const nowMs = clock()
    await telemetry.refresh(reader, fromMs)
    if (refreshedAtMs === 0) await dwells.refresh(reader.questdb)
    else if (refreshingSlow === undefined && waitsForSlow()) await refreshSlowOnce(reader)
    else refreshSlowOnce(reader).catch(() => {})
    refreshedAtMs = nowMs
  }
  const refreshOnce = (reader: Reader, fromMs: number): Promise<void> => {
    refreshing ??= refreshFeeds(reader, fromMs).finally(() => {
      refreshing = undefined
    })
    return refreshing
  }
  const readNewcomers = async ({ questdb }: Reader, deviceIds: readonly string[]): Promise<void> => {
    const areLocated = await telemetry.readDevices(questdb, deviceIds)
    if (areLocated) await dwells.refresh(questdb)
    registry.admit(deviceIds)
  }
  const pauseMs = (): number => Math.min(stalestMs / 2, Math.max(freshMs / 2, telemetry.lookMs() / followShare))
  /** The age up to which a reader gets the map without waiting, because a refresh is running or starts soon. */
  const toleratedMs = (): number =>
    refreshing ? stalestMs : Math.min(stalestMs, Math.max(freshMs, pauseMs() + 2 * telemetry.lookMs()))

  return {
    async read(reader, fromMs) {
      const nowMs = clock()
      await registry.refresh()
      while (refreshedAtMs < nowMs - toleratedMs() || telemetry.reachesBackToMs() > fromMs) {
        await refreshOnce(reader, fromMs)
      }
      const newcomers = registry.newcomers()
      if (newcomers.length > 0) await readNewcomers(reader, newcomers)
      return map
    },
    refresh: (reader) => refreshOnce(reader, telemetry.reachesBackToMs()),
    pauseMs,
  }
}
