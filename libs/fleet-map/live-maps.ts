import type { Clock } from '#core/clock'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/organization-map'
import { createPacer, type Pacer } from '#fleet-map/pacer'
import { databaseNowMs, registryChanges, registryEntries } from '#fleet-map/registry'
import type { Revisions } from '#fleet-map/revisions'
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
import { clockAheadMs } from './window.ts'

/** Live pictures of organizations, shared by everyone who reads them at the same time. */
export type LiveMaps = {
  /**
   * The organization's picture, reaching back to `fromMs`: devices as they are registered now, telemetry as it was at most
   * a second ago, or of a large fleet at its last look, five seconds ago at most. QuestDB is read on the share of
   * `owner`, also while the picture is followed.
   */
  read(organizationId: string, fromMs: number, owner: string): Promise<OrganizationMap>
  /** Stops following; what is being read ends by itself. */
  close(): void
}

type Sources = { pool: Pool; readers: Readers; clock: Clock; revisions: Revisions }
type Source = Omit<Sources, 'readers'> & { questdb: QuestdbSql }

type LiveMap = {
  map: OrganizationMap
  /** Who read it last: on their share it is followed. */
  owner: string
  /** When the last look at the registry began, by the database's clock; 0 before the first. */
  registryAsOfMs: number
  /** When the last look at telemetry began; 0 before the first. What was visible then is in. */
  asOfMs: number
  /** How long the last look at what just arrived took. */
  lookMs: number
  /** When the last look at the whole depth began. */
  deepAsOfMs: number
  reachesBackToMs: number
  usedAtMs: number
  /** Devices that were registered since the first look: what they reported before they were known was passed over. */
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

// Rows become visible out of order of their arrival.
const arrivalOverlapMs = 5_000
// A realigned row keeps its time of arrival and is written up to a minute after it.
const realignOverlapMs = 90_000
// What routers report as it happens lies in here; older samples that arrive late are found by the deep look.
const recentMs = 10 * 60_000
const longestRecentGapMs = 5 * 60_000
const deepLookShare = 0.05
// Following may take this share of the time: a large fleet is looked at less often.
const followShare = 0.1
const stalestMs = 5_000
const maxIdsAtOnce = 500
const maxIds = 4 * maxIdsAtOnce

/** Keeps pictures that are read, follows them for a while after each reading, and forgets the others. */
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
        // A reader that meets the same failure is told; here the next look tries again.
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

/** From the end of one look to the beginning of the next, while the picture is followed. */
const pauseMs = ({ lookMs }: LiveMap): number => Math.min(stalestMs / 2, Math.max(freshMs / 2, lookMs / followShare))

/** How old a picture a reader gets without waiting: one is soon followed by the next, or that is being made already. */
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

/** Reads what newcomers reported so far. Many come at once by an import: then everybody's newest is read. */
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

/** Reads everything between `fromMs` and what is known already. */
async function reachBack(sources: Source, live: LiveMap, fromMs: number, nowMs: number): Promise<void> {
  await readNewest(sources, live.map, { fromMs, toMs: Math.min(live.reachesBackToMs, nowMs + clockAheadMs) })
  live.reachesBackToMs = fromMs
  if (live.deepAsOfMs === 0) live.deepAsOfMs = nowMs
}

/** Reads what arrived since the last refresh: always of recent samples, of all others when that is due. */
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
 * A fix that came without a signal may have realigned the signal known before, which keeps its own time of arrival.
 * Fixes newer than it are looked at always; a late one from before it only with `isLateLookedFor`.
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

/** Brings every device's newest fix and signal of the range into the map. */
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
