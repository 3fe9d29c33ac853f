import type { Clock } from '#core/clock'
import { createOrganizationMap, type OrganizationMap } from '#fleet/fleet-map/organization-map'
import { createPacer, type Pacer } from '#fleet/fleet-map/pacer'
import { registryChanges, registryEntries } from '#fleet/fleet-map/registry'
import type { Revisions } from '#fleet/fleet-map/revisions'
import type { Pool } from '#postgres/pool'
import { ongoingDwells } from '#questdb/dwells'
import { fleetPositions, fleetSignals } from '#questdb/fleet-gps'
import type { QuestdbSql } from '#questdb/sql'
import { clockAheadMs } from '../telemetry/window.ts'

/** Live pictures of organizations, shared by everyone who reads them at the same time. */
export type LiveMaps = {
  /** The organization's picture, at most a second old and reaching back to `fromMs`. */
  read(organizationId: string, fromMs: number): Promise<OrganizationMap>
}

type Sources = { pool: Pool; questdb: QuestdbSql; clock: Clock; revisions: Revisions }

type LiveMap = {
  map: OrganizationMap
  /** When the last refresh began; 0 before the first. What was visible then is in the picture. */
  asOfMs: number
  /** When the last look at the whole depth began. */
  deepAsOfMs: number
  reachesBackToMs: number
  usedAtMs: number
  deepLook: Pacer
  dwellLook: Pacer
  refreshing: Promise<void> | undefined
}

const freshMs = 1_000
const forgottenAfterMs = 15 * 60_000
const dayMs = 86_400_000
const retentionMs = 90 * dayMs

// Rows become visible out of order of their arrival, transactions out of order of their ids.
const arrivalOverlapMs = 5_000
const registryOverlapMs = 30_000
// A realigned row keeps its time of arrival and is written up to a minute after it.
const realignOverlapMs = 90_000
// What routers report as it happens lies in here; older samples that arrive late are found by the deep look.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05
const maxIdsAtOnce = 500
const maxIds = 4 * maxIdsAtOnce

/** Keeps pictures that are read, refreshes them on demand by what arrived since, and forgets the others. */
export function createLiveMaps(sources: Sources): LiveMaps {
  const { clock } = sources
  const lives = new Map<string, LiveMap>()

  const liveOf = (organizationId: string, nowMs: number): LiveMap => {
    for (const [id, { usedAtMs }] of lives) if (nowMs - usedAtMs > forgottenAfterMs) lives.delete(id)
    const live = lives.get(organizationId) ?? newLive(organizationId, sources.revisions)
    lives.set(organizationId, live)
    live.usedAtMs = nowMs
    return live
  }

  return {
    async read(organizationId, fromMs) {
      const nowMs = clock()
      const live = liveOf(organizationId, nowMs)
      while (live.asOfMs < nowMs - freshMs || live.reachesBackToMs > fromMs) {
        live.refreshing ??= refresh(sources, live, fromMs).finally(() => {
          live.refreshing = undefined
        })
        await live.refreshing
      }
      return live.map
    },
  }
}

const newLive = (organizationId: string, revisions: Revisions): LiveMap => ({
  map: createOrganizationMap(organizationId, revisions),
  asOfMs: 0,
  deepAsOfMs: 0,
  reachesBackToMs: Number.POSITIVE_INFINITY,
  usedAtMs: 0,
  deepLook: createPacer(deepLookShare),
  dwellLook: createPacer(deepLookShare),
  refreshing: undefined,
})

async function refresh(sources: Sources, live: LiveMap, fromMs: number): Promise<void> {
  const nowMs = sources.clock()
  await refreshRegistry(sources, live)
  if (live.reachesBackToMs > fromMs) await reachBack(sources, live, Math.min(fromMs, nowMs - dayMs), nowMs)
  else await refreshTelemetry(sources, live, nowMs)
  if (live.dwellLook.isDue(nowMs)) {
    live.map.replaceDwells(await ongoingDwells(sources.questdb, live.map.organizationId, nowMs - retentionMs))
    live.dwellLook.ran(nowMs, sources.clock() - nowMs)
  }
  live.asOfMs = nowMs
}

async function refreshRegistry({ pool }: Sources, { map, asOfMs }: LiveMap): Promise<void> {
  if (asOfMs === 0) {
    map.applyRegistry(await registryEntries(pool, map.organizationId))
    return
  }
  const changes = await registryChanges(pool, map.organizationId, asOfMs - registryOverlapMs)
  map.remove(changes.departed)
  map.applyRegistry(changes.entries)
}

/** Reads everything between `fromMs` and what is known already. */
async function reachBack({ questdb }: Sources, live: LiveMap, fromMs: number, nowMs: number): Promise<void> {
  const { map, reachesBackToMs } = live
  const range = { fromMs, toMs: Math.min(reachesBackToMs, nowMs + clockAheadMs) }
  const [positions, signals] = await Promise.all([
    fleetPositions(questdb, map.organizationId, range),
    fleetSignals(questdb, map.organizationId, range),
  ])
  map.applyLocations(positions)
  map.applySignals(signals)
  live.reachesBackToMs = fromMs
  if (live.deepAsOfMs === 0) live.deepAsOfMs = nowMs
}

/** Reads what arrived since the last refresh: always of recent samples, of all others when that is due. */
async function refreshTelemetry({ questdb, clock }: Sources, live: LiveMap, nowMs: number): Promise<void> {
  const { map } = live
  const isDeep = live.deepLook.isDue(nowMs) || nowMs - live.asOfMs > longestRecentGapMs
  const toMs = nowMs + clockAheadMs
  const range = isDeep
    ? { fromMs: live.reachesBackToMs, toMs, receivedSinceMs: live.deepAsOfMs - realignOverlapMs }
    : { fromMs: nowMs - recentMs, toMs, receivedSinceMs: live.asOfMs - arrivalOverlapMs }
  const [positions, signals] = await Promise.all([
    fleetPositions(questdb, map.organizationId, range),
    fleetSignals(questdb, map.organizationId, range),
  ])
  map.applyLocations(positions)
  map.applySignals(signals)
  if (isDeep) {
    live.deepAsOfMs = nowMs
    live.deepLook.ran(nowMs, clock() - nowMs)
    return
  }
  // A fix that came without a newer signal may have realigned the signal before it.
  const overtaken = positions.filter(
    ({ deviceId, state }) => state.tsMs > (map.device(deviceId)?.signal?.tsMs ?? state.tsMs),
  )
  const ids = overtaken.slice(0, maxIds).map(({ deviceId }) => deviceId)
  for (let start = 0; start < ids.length; start += maxIdsAtOnce) {
    const deviceIds = ids.slice(start, start + maxIdsAtOnce)
    map.applySignals(await fleetSignals(questdb, map.organizationId, { fromMs: range.fromMs, toMs, deviceIds }))
  }
}
