import type { Clock } from '#core/clock'
import { readNewest, readNewestOf, readRealigned } from '#fleet-map/live/newest-rows'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { createPacer } from '#fleet-map/live/pacer'
import { clockAheadMs } from '#fleet-map/window'
import type { Reader } from '#questdb/readers'
import type { QuestdbSql } from '#questdb/sql'

/** Applies positions and signals to the map of an organization. */
export type TelemetryFeed = {
  /** Applies what arrived since the last refresh. Extends the map back to `fromMs` if it does not reach that far. */
  refresh(reader: Pick<Reader, 'questdb' | 'copy'>, fromMs: number): Promise<void>
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
// A realigned row keeps its arrival time and is written up to a minute later. The clock of the process that received the
// report may be a minute behind ours.
const deepOverlapMs = 150_000
// Contains all samples that are reported immediately. The deep refresh finds older samples that arrive late.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05

/**
 * Owns which window of telemetry the map covers, and up to which arrival. That is the time of a refresh minus the lag of its
 * copy, so the next refresh finds what was not there yet, on the same copy or on another. A map never loses what it has.
 */
export function createTelemetryFeed(map: OrganizationMap, clock: Clock): TelemetryFeed {
  /** The map contains all rows that arrived before. Undefined before the first refresh. */
  let asOfMs: number | undefined
  /** As `asOfMs`, by the last refresh of the whole window. */
  let deepAsOfMs = 0
  /** The copy of the last refresh. */
  let copyName: string | undefined
  let reachesBackToMs = Number.POSITIVE_INFINITY
  let lookMs = 0
  const deepLook = createPacer(deepLookShare)

  const reachBack = async (questdb: QuestdbSql, fromMs: number, nowMs: number): Promise<void> => {
    await readNewest(questdb, map, { fromMs, toMs: Math.min(reachesBackToMs, nowMs + clockAheadMs) })
    reachesBackToMs = fromMs
  }

  /** Reads rows that arrived since the last refresh: recent samples always, older samples if a deep refresh is due. */
  const readArrivals = async (
    questdb: QuestdbSql,
    {
      nowMs,
      asOfMs,
      visibleToMs,
      isOtherCopy,
    }: { nowMs: number; asOfMs: number; visibleToMs: number; isOtherCopy: boolean },
  ): Promise<void> => {
    const isDue = deepLook.isDue(nowMs)
    const isDeep = isDue || isOtherCopy || nowMs - asOfMs > longestRecentGapMs
    const toMs = nowMs + clockAheadMs
    const range = isDeep
      ? { fromMs: reachesBackToMs, toMs, receivedSinceMs: deepAsOfMs - deepOverlapMs }
      : { fromMs: nowMs - recentMs, toMs, receivedSinceMs: asOfMs - arrivalOverlapMs }
    const arrived = await readNewest(questdb, map, range)
    await readRealigned(questdb, map, arrived, { fromMs: range.fromMs, toMs, withLate: isDeep })
    if (isDeep) {
      deepAsOfMs = visibleToMs
      deepLook.ran(nowMs, clock() - nowMs)
    }
    // A refresh that is deep without being due happens each time while the copy lags by minutes.
    if (!isDue) lookMs = clock() - nowMs
  }

  return {
    async refresh({ questdb, copy }, fromMs) {
      const nowMs = clock()
      const lagMs = copy.lagMs()
      // With an unknown lag, nothing more is known to be visible than before.
      const visibleToMs = lagMs === undefined ? (asOfMs ?? fromMs) : nowMs - lagMs
      if (reachesBackToMs > fromMs) await reachBack(questdb, Math.min(fromMs, nowMs - dayMs), nowMs)
      // The first reach back reads the whole window, a later one only what lies before it.
      if (asOfMs === undefined) deepAsOfMs = visibleToMs
      else await readArrivals(questdb, { nowMs, asOfMs, visibleToMs, isOtherCopy: copy.name !== copyName })
      asOfMs = visibleToMs
      copyName = copy.name
    },
    readDevices: (questdb, deviceIds) =>
      readNewestOf(questdb, map, deviceIds, { fromMs: reachesBackToMs, toMs: clock() + clockAheadMs }),
    reachesBackToMs: () => reachesBackToMs,
    lookMs: () => lookMs,
  }
}
