import type { Clock } from '#core/clock'
import { readNewest, readNewestOf, readRealigned } from '#fleet-map/live/newest-rows'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { createPacer } from '#fleet-map/live/pacer'
import { clockAheadMs } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import type { FleetRange } from '#questdb/fleet/fleet-gps'
import type { QuestdbSql } from '#questdb/server/sql'

/** Applies positions and signals to the map of an organization. */
export type TelemetryFeed = {
  /** Applies recent samples that arrived since the last refresh. Extends the map back to `fromMs` if it does not reach that far. */
  refresh(reader: Pick<Reader, 'questdb' | 'copy'>, fromMs: number): Promise<void>
  /** Applies all samples of the window that arrived since this was last done, also those that arrive late, if it is due. */
  refreshLateIfDue(reader: Pick<Reader, 'questdb' | 'copy'>): Promise<void>
  /** Applies the telemetry of devices that the map did not have before. Returns whether any has a fix. */
  readDevices(questdb: QuestdbSql, deviceIds: readonly string[]): Promise<boolean>
  /** Start of the window that the map covers; Infinity before the first refresh. */
  reachesBackToMs(): number
  /** Duration of the last refresh, without the time to extend the map. */
  lookMs(): number
  /** Duration of the last look at late samples, estimated before the first. */
  lateLookMs(): number
}

const dayMs = 86_400_000

// Rows can become visible in another order than they arrive.
const arrivalOverlapMs = 5_000
// A realigned row keeps its arrival time and is written up to a minute later. The clock of the process that received the
// report may be a minute behind ours.
const deepOverlapMs = 150_000
// Contains all samples that are reported immediately. The deep look finds older samples that arrive late.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05
// The first look at late samples is estimated as this share of the time to read the whole window. It was 0.2 with a million
// devices. The estimate is lower, so that readers of a small fleet wait for it although the first statements of a server are slow.
const deepOfWindow = 0.1

/**
 * Owns which window of telemetry the map covers, and up to which arrival. That is the time of a refresh minus the lag of its
 * copy, so the next refresh finds what was not there yet, on the same copy or on another. A map never loses what it has.
 */
export function createTelemetryFeed(map: OrganizationMap, clock: Clock): TelemetryFeed {
  /** The map contains all rows that arrived before. Undefined before the first refresh. */
  let asOfMs: number | undefined
  /** As `asOfMs`, by the last look at the whole window. */
  let deepAsOfMs = 0
  /** The copy of the last refresh. */
  let copyName: string | undefined
  let reachesBackToMs = Number.POSITIVE_INFINITY
  let lookMs = 0
  let windowLookMs = 0
  const deepLook = createPacer(deepLookShare)

  const reachBack = async (questdb: QuestdbSql, fromMs: number, nowMs: number): Promise<void> => {
    await readNewest(questdb, map, { fromMs, toMs: Math.min(reachesBackToMs, nowMs + clockAheadMs) })
    reachesBackToMs = fromMs
  }

  const readArrivals = async (
    questdb: QuestdbSql,
    range: Required<Omit<FleetRange, 'deviceIds'>>,
    withLate: boolean,
  ) => {
    const arrived = await readNewest(questdb, map, range)
    await readRealigned(questdb, map, arrived, { fromMs: range.fromMs, toMs: range.toMs, withLate })
  }
  const readRecent = (questdb: QuestdbSql, nowMs: number, sinceMs: number): Promise<void> => {
    const range = { fromMs: nowMs - recentMs, toMs: nowMs + clockAheadMs, receivedSinceMs: sinceMs - arrivalOverlapMs }
    return readArrivals(questdb, range, false)
  }
  const readDeep = async (questdb: QuestdbSql, nowMs: number, visibleToMs: number): Promise<void> => {
    const receivedSinceMs = deepAsOfMs - deepOverlapMs
    const range = { fromMs: reachesBackToMs, toMs: nowMs + clockAheadMs, receivedSinceMs }
    await readArrivals(questdb, range, true)
    deepAsOfMs = visibleToMs
    deepLook.ran(nowMs, clock() - nowMs)
  }

  return {
    async refresh({ questdb, copy }, fromMs) {
      const nowMs = clock()
      map.expireConnections(nowMs)
      // With an unknown lag, nothing more is known to be visible than before.
      const visibleToMs = visibleTo(copy, nowMs) ?? asOfMs ?? fromMs
      if (reachesBackToMs > fromMs) await reachBack(questdb, Math.min(fromMs, nowMs - dayMs), nowMs)
      const lookedFromMs = clock()
      // The first reach back reads the whole window, a later one only what lies before it.
      if (asOfMs === undefined) {
        deepAsOfMs = visibleToMs
        windowLookMs = lookedFromMs - nowMs
      } else if (copy.name !== copyName || nowMs - asOfMs > longestRecentGapMs)
        await readDeep(questdb, nowMs, visibleToMs)
      else await readRecent(questdb, nowMs, asOfMs)
      asOfMs = visibleToMs
      copyName = copy.name
      lookMs = clock() - lookedFromMs
    },
    async refreshLateIfDue({ questdb, copy }) {
      const nowMs = clock()
      const visibleToMs = visibleTo(copy, nowMs) ?? asOfMs
      if (visibleToMs !== undefined && deepLook.isDue(nowMs)) await readDeep(questdb, nowMs, visibleToMs)
    },
    readDevices: (questdb, deviceIds) =>
      readNewestOf(questdb, map, deviceIds, { fromMs: reachesBackToMs, toMs: clock() + clockAheadMs }),
    reachesBackToMs: () => reachesBackToMs,
    lookMs: () => lookMs,
    lateLookMs: () => deepLook.tookMs() ?? windowLookMs * deepOfWindow,
  }
}

/** All rows that arrived before are visible on the copy; undefined if its lag is unknown. */
function visibleTo({ lagMs }: Reader['copy'], nowMs: number): number | undefined {
  const lag = lagMs()
  return lag === undefined ? undefined : nowMs - lag
}
