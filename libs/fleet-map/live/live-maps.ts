import type { Clock } from '#core/clock'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { createPacer, type Pacer } from '#fleet-map/live/pacer'
import { databaseNowMs, registryChanges, registryEntries } from '#fleet-map/registry'
import type { Revisions } from '#fleet-map/revisions'
import { clockAheadMs } from '#fleet-map/window'
import type { Pool } from '#postgres/pool'
import { ongoingDwells } from '#questdb/dwells'
import {
  type DeviceRow,
  type FleetRange,
  fleetPositions,
  fleetSignals,
  type PositionRow,
  type SignalRow,
} from '#questdb/fleet-gps'
import type { Readers } from '#questdb/readers'
import type { QuestdbSql } from '#questdb/sql'

/** Live maps of organizations, shared by all concurrent readers. */
export type LiveMaps = {
  /**
   * The organization's map with data since `fromMs`: the currently registered devices, with telemetry that is at most
   * one second old, or five seconds for a large fleet. QuestDB is read on the share of `owner`, also by later
   * refreshes.
   */
  read(organizationId: string, fromMs: number, owner: string): Promise<OrganizationMap>
  /** Stops refreshing. Running queries end by themselves. */
  close(): void
}

type Sources = { pool: Pool; readers: Readers; clock: Clock; revisions: Revisions }
type Source = Omit<Sources, 'readers'> & { questdb: QuestdbSql }

type LiveMap = {
  map: OrganizationMap
  /** The last reader, whose share is used for refreshes. */
  owner: string
  /** Start of the last registry refresh, by the database's clock; 0 before the first. */
  registryAsOfMs: number
  /** Start of the last telemetry refresh; 0 before the first. The map contains all rows that were visible then. */
  asOfMs: number
  /** Duration of the last refresh of recent telemetry. */
  lookMs: number
  /** Start of the last refresh of the whole window. */
  deepAsOfMs: number
  reachesBackToMs: number
  usedAtMs: number
  /** Devices that were registered after the first refresh. Their earlier telemetry has not been read yet. */
  newcomers: Set<string>
  deepLook: Pacer
  dwellLook: Pacer
  refreshing: Promise<void> | undefined
  timer: NodeJS.Timeout | undefined
}

const freshMs = 1_000
const followedForMs = 15_000
const forgottenAfterMs = 15 * 60_000
const dayMs = 86_400_000
const retentionMs = 90 * dayMs

// Rows can become visible in another order than they arrive.
const arrivalOverlapMs = 5_000
// A realigned row keeps its arrival time and is written up to a minute later.
const realignOverlapMs = 90_000
// Contains all samples that are reported immediately. The deep refresh finds older samples that arrive late.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05
// Refreshes use at most this share of the time, so a large fleet is refreshed less often.
const followShare = 0.1
const stalestMs = 5_000
const maxIdsAtOnce = 500
const maxIds = 4 * maxIdsAtOnce

/** Keeps the maps that are read, refreshes them for a while after each read, and discards unused maps. */
export function createLiveMaps(sources: Sources): LiveMaps {
  const { clock } = sources
  const lives = new Map<string, LiveMap>()
  let isClosed = false

  const sourceOf = ({ owner }: LiveMap): Source => ({ ...sources, questdb: sources.readers.of(owner).questdb })

  const liveOf = (organizationId: string, nowMs: number, owner: string): LiveMap => {
    for (const [id, { usedAtMs }] of lives) if (nowMs - usedAtMs > forgottenAfterMs) lives.delete(id)
    const live = lives.get(organizationId) ?? newLive(organizationId, sources.revisions)
    lives.set(organizationId, live)
    live.usedAtMs = nowMs
    live.owner = owner
    return live
  }

  const refreshOnce = (live: LiveMap, fromMs: number): Promise<void> => {
    live.refreshing ??= refreshTelemetry(sourceOf(live), live, fromMs).finally(() => {
      live.refreshing = undefined
    })
    return live.refreshing
  }

  const follow = (live: LiveMap, delayMs: number): void => {
    if (live.timer || isClosed) return
    live.timer = setTimeout(async () => {
      const startedMs = clock()
      if (startedMs - live.usedAtMs <= followedForMs) {
        // Readers get the error of their own refresh. Here, the next refresh retries.
        await refreshOnce(live, live.reachesBackToMs).catch(() => {})
        live.timer = undefined
        follow(live, pauseMs(live))
      } else live.timer = undefined
    }, delayMs).unref()
  }

  return {
    async read(organizationId, fromMs, owner) {
      const nowMs = clock()
      const live = liveOf(organizationId, nowMs, owner)
      await refreshRegistry(sourceOf(live), live)
      while (live.asOfMs < nowMs - toleratedMs(live) || live.reachesBackToMs > fromMs) await refreshOnce(live, fromMs)
      if (live.newcomers.size > 0) await readNewcomers(sourceOf(live), live)
      follow(live, freshMs / 2)
      return live.map
    },
    close() {
      isClosed = true
      for (const { timer } of lives.values()) clearTimeout(timer)
    },
  }
}

/** Pause between two refreshes. */
const pauseMs = ({ lookMs }: LiveMap): number => Math.min(stalestMs / 2, Math.max(freshMs / 2, lookMs / followShare))

/** The age up to which a reader gets the map without waiting, because a refresh is running or starts soon. */
const toleratedMs = (live: LiveMap): number =>
  live.refreshing ? stalestMs : Math.min(stalestMs, Math.max(freshMs, pauseMs(live) + 2 * live.lookMs))

const newLive = (organizationId: string, revisions: Revisions): LiveMap => ({
  map: createOrganizationMap(organizationId, revisions),
  owner: '',
  registryAsOfMs: 0,
  asOfMs: 0,
  lookMs: 0,
  deepAsOfMs: 0,
  reachesBackToMs: Number.POSITIVE_INFINITY,
  usedAtMs: 0,
  newcomers: new Set(),
  deepLook: createPacer(deepLookShare),
  dwellLook: createPacer(deepLookShare),
  refreshing: undefined,
  timer: undefined,
})

async function refreshRegistry({ pool }: Source, live: LiveMap): Promise<void> {
  const { map } = live
  const nowMs = await databaseNowMs(pool)
  if (live.registryAsOfMs === 0) {
    map.applyRegistry(await registryEntries(pool, map.organizationId))
  } else {
    const changes = await registryChanges(pool, map.organizationId, live.registryAsOfMs)
    map.remove(changes.departed)
    for (const { deviceId } of changes.entries) if (!map.device(deviceId)) live.newcomers.add(deviceId)
    map.applyRegistry(changes.entries)
  }
  live.registryAsOfMs = Math.max(live.registryAsOfMs, nowMs)
}

async function refreshTelemetry(sources: Source, live: LiveMap, fromMs: number): Promise<void> {
  const nowMs = sources.clock()
  if (live.reachesBackToMs > fromMs) await reachBack(sources, live, Math.min(fromMs, nowMs - dayMs), nowMs)
  else await readArrivals(sources, live, nowMs)
  if (live.dwellLook.isDue(nowMs)) await readDwells(sources, live, nowMs)
  live.asOfMs = nowMs
}

async function readDwells({ questdb, clock }: Source, live: LiveMap, nowMs: number): Promise<void> {
  live.map.replaceDwells(await ongoingDwells(questdb, live.map.organizationId, nowMs - retentionMs))
  live.dwellLook.ran(nowMs, clock() - nowMs)
}

/** Reads the earlier telemetry of newcomers. After a large import, reads the newest telemetry of all devices. */
async function readNewcomers(sources: Source, live: LiveMap): Promise<void> {
  const nowMs = sources.clock()
  const range = { fromMs: live.reachesBackToMs, toMs: nowMs + clockAheadMs }
  const newcomers = [...live.newcomers]
  let areLocated = false
  for (const deviceIds of newcomers.length > maxIds ? [undefined] : inParts(newcomers)) {
    const { positions } = await readNewest(sources, live.map, deviceIds ? { ...range, deviceIds } : range)
    areLocated ||= positions.length > 0
  }
  if (areLocated) await readDwells(sources, live, nowMs)
  for (const deviceId of newcomers) live.newcomers.delete(deviceId)
}

/** Extends the map back to `fromMs`. */
async function reachBack(sources: Source, live: LiveMap, fromMs: number, nowMs: number): Promise<void> {
  await readNewest(sources, live.map, { fromMs, toMs: Math.min(live.reachesBackToMs, nowMs + clockAheadMs) })
  live.reachesBackToMs = fromMs
  if (live.deepAsOfMs === 0) live.deepAsOfMs = nowMs
}

/** Reads rows that arrived since the last refresh: recent samples always, older samples if a deep refresh is due. */
async function readArrivals(sources: Source, live: LiveMap, nowMs: number): Promise<void> {
  const isDeep = live.deepLook.isDue(nowMs) || nowMs - live.asOfMs > longestRecentGapMs
  const toMs = nowMs + clockAheadMs
  const range = isDeep
    ? { fromMs: live.reachesBackToMs, toMs, receivedSinceMs: live.deepAsOfMs - realignOverlapMs }
    : { fromMs: nowMs - recentMs, toMs, receivedSinceMs: live.asOfMs - arrivalOverlapMs }
  const arrived = await readNewest(sources, live.map, range)
  await readRealigned(sources, live.map, arrived, { fromMs: range.fromMs, toMs }, isDeep)
  if (isDeep) {
    live.deepAsOfMs = nowMs
    live.deepLook.ran(nowMs, sources.clock() - nowMs)
  } else live.lookMs = sources.clock() - nowMs
}

/**
 * A new fix can realign an earlier signal, which keeps its arrival time. Reads the signals again for fixes that are
 * newer than the known signal, and with `isLateLookedFor` also for late fixes that are older.
 */
async function readRealigned(
  { questdb }: Source,
  map: OrganizationMap,
  { positions, signals }: Newest,
  range: FleetRange,
  isLateLookedFor: boolean,
): Promise<void> {
  const isFresh = new Set(signals.map(({ deviceId }) => deviceId))
  const newer: string[] = []
  const late: string[] = []
  for (const { deviceId, state } of positions) {
    const signal = map.device(deviceId)?.signal
    if (!signal) continue
    if (state.tsMs > signal.tsMs) newer.push(deviceId)
    else if (isLateLookedFor && !isFresh.has(deviceId)) late.push(deviceId)
  }
  for (const deviceIds of inParts([...newer, ...late].slice(0, maxIds))) {
    map.applySignals(await fleetSignals(questdb, map.organizationId, { ...range, deviceIds }))
  }
}

type Newest = { positions: DeviceRow<PositionRow>[]; signals: DeviceRow<SignalRow>[] }

/** Applies each device's newest fix and signal in the range to the map. */
async function readNewest({ questdb }: Source, map: OrganizationMap, range: FleetRange): Promise<Newest> {
  const [positions, signals] = await Promise.all([
    fleetPositions(questdb, map.organizationId, range),
    fleetSignals(questdb, map.organizationId, range),
  ])
  map.applyLocations(positions)
  map.applySignals(signals)
  return { positions, signals }
}

function inParts(deviceIds: readonly string[]): string[][] {
  const parts: string[][] = []
  for (let start = 0; start < deviceIds.length; start += maxIdsAtOnce) {
    parts.push(deviceIds.slice(start, start + maxIdsAtOnce))
  }
  return parts
}
