import type { FleetContext } from '#fleet/context'
import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import { databaseNowMs } from '#fleet-map/database-moment'
import { deletedAmong } from '#fleet-map/dwells/deleted-devices'
import type { DwellLists } from '#fleet-map/dwells/dwell-lists'
import { etagOf } from '#fleet-map/gps/gps-etag'
import { deviceRequestOf, type GpsCursor, type GpsRequest, scopeOf } from '#fleet-map/gps/gps-request'
import type { GpsSources } from '#fleet-map/gps/gps-sources'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { departedSince } from '#fleet-map/live/registry'
import { type MapMoment, momentToken } from '#fleet-map/revisions'
import type { MapWindow } from '#fleet-map/selection/candidates'
import { isInside } from '#fleet-map/selection/filter'
import type { Selection } from '#fleet-map/selection/selection'
import { clockAheadMs, windowsOf, windowView } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { deviceTrails, type TrailPoint } from '#questdb/fleet/trails'
import { cellCentre } from '#questdb/votes/coverage-areas'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'
import type { Point } from '#telemetry/geo/geo'

/** The content of a response, before it is formatted. */
export type MapData = {
  asOf: string
  nowMs: number
  window: { from: string; to: string; limitedBy: 'plan' | null }
  h3Resolution: number | null
  selection: Selection
  coverage: Awaited<ReturnType<CoverageLists['read']>>['entries']
  dwells: Awaited<ReturnType<DwellLists['read']>>['entries']
  trails: Map<string, TrailPoint[]> | undefined
  gone: string[]
  next: GpsCursor | null
  etag: string
}

/** Reads the content of a response. */
export async function readGps(
  ctx: FleetContext,
  fleet: GpsSources,
  reader: Reader,
  request: GpsRequest,
): Promise<MapData> {
  const [data] = await readGpsSince(ctx, fleet, reader, [request])
  if (!data) throw new Error('No response was read for the request.')
  return data
}

/**
 * Reads the responses to requests that differ only in `since`. All responses describe the same moment, so that
 * afterwards all readers have the same state.
 */
export async function readGpsSince(
  ctx: FleetContext,
  fleet: GpsSources,
  reader: Reader,
  requests: readonly GpsRequest[],
): Promise<MapData[]> {
  const [request] = requests
  if (!request) return []
  const { maps, coverage, dwells, timeMs } = await readSources(ctx, fleet, reader, request)
  const { organizations, cursor } = request
  const windowsAt = (atMs: number): MapWindow[] =>
    maps.map((map, index) => ({ map, fromMs: atMs - (organizations[index]?.windowMs ?? 0) }))
  const wanted = requests.map((each) => ({ request: each, devices: deviceRequestOf(each) }))
  const found = await fleet.selections.find(
    wanted.map(({ devices }) => devices),
    windowsAt(ctx.clock()),
    ctx.clock(),
  )
  // Do not await anything until all selections are made, because the maps can change.
  const nowMs = ctx.clock()
  const asOf =
    cursor?.asOf ?? momentToken({ epoch: fleet.revisions.epoch, revision: fleet.revisions.current(), timeMs })
  const windows = windowsAt(nowMs)
  const selected = wanted.map(({ request: each, devices }) => ({
    request: each,
    ...fleet.selections.select(devices, windows, { asOf, nowMs, found }),
  }))
  return Promise.all(
    selected.map(async ({ request: each, selection, gone: left }): Promise<MapData> => {
      const since = fleet.revisions.own(each.since)
      const isChanged = ({ revision, isGone }: { revision: number; isGone: boolean }) =>
        since ? revision > since.revision : !isGone
      const shown = { coverage: (coverage?.entries ?? []).filter(isChanged), dwells: dwells.filter(isChanged) }
      const gone = cursor ? [] : [...new Set([...left, ...(await unseenDepartures(ctx, each, windows, since))])]
      return {
        asOf,
        nowMs,
        window: windowView(each, nowMs),
        h3Resolution: coverage?.facts.h3Resolution ?? null,
        selection,
        ...shown,
        trails: each.include.has('trails')
          ? await reader.heavy(() => readTrails(reader, windows, selection, nowMs))
          : undefined,
        gone,
        next: selection.next && { asOf, after: selection.next },
        etag: etagOf(fleet.revisions.epoch, each, selection, shown, gone, coverage?.facts.h3Resolution),
      }
    }),
  )
}

/** The sources that all requests share: maps, cells and dwells of the organizations. */
async function readSources(ctx: FleetContext, fleet: GpsSources, reader: Reader, request: GpsRequest) {
  const { include, organizations, cursor } = request
  const isFirstPage = cursor === undefined
  const startedMs = ctx.clock()
  const [timeMs, maps, coverage, dwells] = await Promise.all([
    // The database's time, because another process may compare it with later events, and with those of the seconds before.
    databaseNowMs(ctx.pool),
    include.has('devices') || include.has('trails')
      ? Promise.all(
          organizations.map(({ organizationId, windowMs }) =>
            fleet.live.read(organizationId, startedMs - windowMs, reader),
          ),
        )
      : [],
    include.has('coverage') && isFirstPage ? readCoverage(fleet, reader, request) : undefined,
    include.has('dwells') && isFirstPage
      ? fleet.dwells.read({ ...scopeOf(request), reader, organizations: windowsOf(organizations) }, reader.signal)
      : undefined,
  ])
  // With a place, the lists were read for its bounding box.
  const area = request.place
  const cells = coverage && {
    ...coverage,
    entries: area ? coverage.entries.filter(({ item }) => area.contains(cellPoint(item.h3))) : coverage.entries,
  }
  const found = (dwells?.entries ?? []).filter(({ item }) => isInside({ area }, item.row))
  return { maps, coverage: cells, dwells: await markDeleted(ctx, maps, found), timeMs }
}

function cellPoint(h3: string): Point {
  const [lat, lon] = cellCentre(h3)
  return { lat, lon }
}

/** Departures before this process read the map, from the audit rows. */
async function unseenDepartures(
  ctx: FleetContext,
  request: GpsRequest,
  windows: readonly MapWindow[],
  since: MapMoment | undefined,
): Promise<string[]> {
  if (!request.since) return []
  const unwatched = windows.filter(({ map }) => !since || map.knownSince() > since.revision)
  if (unwatched.length === 0) return []
  const ids = unwatched.map(({ map }) => map.organizationId)
  return departedSince(ctx.pool, ids, request.since.timeMs)
}

/** Marks dwells of deleted devices as gone. */
async function markDeleted(
  ctx: FleetContext,
  maps: readonly OrganizationMap[],
  entries: MapData['dwells'],
): Promise<MapData['dwells']> {
  const deviceIds = entries.map(({ item }) => item.row.deviceId)
  const deleted = await deletedAmong(ctx.pool, maps, deviceIds)
  if (deleted.size === 0) return entries
  return entries.map((entry) => (deleted.has(entry.item.row.deviceId) ? { ...entry, isGone: true } : entry))
}

function readCoverage(fleet: GpsSources, reader: Reader, request: GpsRequest): ReturnType<CoverageLists['read']> {
  const { query, organizations } = request
  const { rat, plmn, zoom } = query
  const h3Resolution = query.h3Resolution ?? (zoom === undefined ? undefined : resolutionForZoom(zoom))
  const covered = windowsOf(organizations.filter(({ coverage }) => coverage))
  return fleet.coverage.read(
    { ...scopeOf(request), reader, organizations: covered, h3Resolution, rat, plmn },
    reader.signal,
  )
}

async function readTrails(
  { questdb }: Reader,
  windows: readonly MapWindow[],
  { devices }: Selection,
  nowMs: number,
): Promise<Map<string, TrailPoint[]>> {
  const trails = new Map<string, TrailPoint[]>()
  for (const { map, fromMs } of windows) {
    const { organizationId } = map
    const entries = devices.flatMap(({ device }) =>
      device.entry.organizationId === organizationId ? [device.entry] : [],
    )
    const deviceIds = entries.map(({ deviceId }) => deviceId)
    const found = await deviceTrails(questdb, { organizationId, fromMs, toMs: nowMs + clockAheadMs, deviceIds })
    for (const { deviceId, ownedFromMs } of entries) {
      trails.set(
        deviceId,
        (found.get(deviceId) ?? []).filter(({ tsMs }) => tsMs >= (ownedFromMs ?? 0)),
      )
    }
  }
  return trails
}
