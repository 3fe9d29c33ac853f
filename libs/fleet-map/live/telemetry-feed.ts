import type { Clock } from '#core/clock'
import { readNewest, readNewestOf, readRealigned } from '#fleet-map/live/newest-rows'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { createPacer } from '#fleet-map/live/pacer'
import { clockAheadMs } from '#fleet-map/window'
import type { QuestdbSql } from '#questdb/sql'

/** Applies positions and signals to the map of an organization. */
export type TelemetryFeed = {
  /** Applies what arrived since the last refresh. Extends the map back to `fromMs` if it does not reach that far. */
  refresh(questdb: QuestdbSql, fromMs: number): Promise<void>
  /** Applies the telemetry of devices that the map did not have before. Returns whether any has a fix. */
  readDevices(questdb: QuestdbSql, deviceIds: readonly string[]): Promise<boolean>
  /** Start of the window that the map covers; Infinity before the first refresh. */
  reachesBackToMs(): number
  /** Duration of the last refresh of recent telemetry. */
  lookMs(): number
}

const dayMs = 86_400_000

// Rows can become visible in another order than they arrive.
const arrivalOverlapMs = 5_000
// A realigned row keeps its arrival time and is written up to a minute later.
const realignOverlapMs = 90_000
// Contains all samples that are reported immediately. The deep refresh finds older samples that arrive late.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05

/** Owns which window of telemetry the map covers, and up to which arrival. */
export function createTelemetryFeed(map: OrganizationMap, clock: Clock): TelemetryFeed {
  /** Start of the last refresh; 0 before the first. The map contains all rows that were visible then. */
  let asOfMs = 0
  /** Start of the last refresh of the whole window. */
  let deepAsOfMs = 0
  let reachesBackToMs = Number.POSITIVE_INFINITY
  let lookMs = 0
  const deepLook = createPacer(deepLookShare)

  const reachBack = async (questdb: QuestdbSql, fromMs: number, nowMs: number): Promise<void> => {
    await readNewest(questdb, map, { fromMs, toMs: Math.min(reachesBackToMs, nowMs + clockAheadMs) })
    reachesBackToMs = fromMs
    if (deepAsOfMs === 0) deepAsOfMs = nowMs
  }

  /** Reads rows that arrived since the last refresh: recent samples always, older samples if a deep refresh is due. */
  const readArrivals = async (questdb: QuestdbSql, nowMs: number): Promise<void> => {
    const isDeep = deepLook.isDue(nowMs) || nowMs - asOfMs > longestRecentGapMs
    const toMs = nowMs + clockAheadMs
    const range = isDeep
      ? { fromMs: reachesBackToMs, toMs, receivedSinceMs: deepAsOfMs - realignOverlapMs }
      : { fromMs: nowMs - recentMs, toMs, receivedSinceMs: asOfMs - arrivalOverlapMs }
    const arrived = await readNewest(questdb, map, range)
    await readRealigned(questdb, map, arrived, { fromMs: range.fromMs, toMs, withLate: isDeep })
    if (isDeep) {
      deepAsOfMs = nowMs
      deepLook.ran(nowMs, clock() - nowMs)
    } else lookMs = clock() - nowMs
  }

  return {
    async refresh(questdb, fromMs) {
      const nowMs = clock()
      const isFirst = asOfMs === 0
      if (reachesBackToMs > fromMs) await reachBack(questdb, Math.min(fromMs, nowMs - dayMs), nowMs)
      // The first reach back reads the whole window, a later one only what lies before it.
      if (!isFirst) await readArrivals(questdb, nowMs)
      asOfMs = nowMs
    },
    readDevices: (questdb, deviceIds) =>
      readNewestOf(questdb, map, deviceIds, { fromMs: reachesBackToMs, toMs: clock() + clockAheadMs }),
    reachesBackToMs: () => reachesBackToMs,
    lookMs: () => lookMs,
  }
}
