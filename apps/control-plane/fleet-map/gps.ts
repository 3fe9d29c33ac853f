import { createHash } from 'node:crypto'
import type { FleetContext } from '#fleet/context'
import { groupMembers, type MappedOrganization, mappedOrganizations } from '#fleet/fleet-map/access'
import { type DeviceFilter, isOpen } from '#fleet/fleet-map/filter'
import { departedSince, existingDevices } from '#fleet/fleet-map/registry'
import { type Moment, momentToken, parseMomentToken } from '#fleet/fleet-map/revisions'
import {
  type DevicePosition,
  type MapWindow,
  type Seen,
  type Selection,
  selectDevices,
} from '#fleet/fleet-map/selection'
import { resolutionForZoom } from '#questdb/coverage-resolution'
import { deviceTrails, type TrailPoint } from '#questdb/trails'
import { clockAheadMs } from '../telemetry/window.ts'
import type { CoverageLists } from './coverage-lists.ts'
import type { DwellLists } from './dwell-lists.ts'
import type { FleetMaps } from './fleet-maps.ts'
import type { GpsQuery, Included } from './query.ts'

/** Where a page of devices ended, and what its answer showed of time and change. */
export type GpsCursor = { asOf: string; after: DevicePosition }

/** All one answer is made of, before it takes a format. */
export type GpsPicture = {
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

type OrganizationView = MappedOrganization & { windowMs: number }

const minuteMs = 60_000
const dayMs = 86_400_000
const defaultInclude: readonly Included[] = ['devices', 'coverage', 'dwells']
const maxDevices = 100_000

/** What a reader may see with a query, settled before anything is read; equal for all who may share an answer. */
export type GpsRequest = {
  query: GpsQuery
  include: ReadonlySet<Included>
  organizations: OrganizationView[]
  members: ReadonlySet<string> | undefined
  since: Moment | undefined
  cursor: GpsCursor | undefined
  limitedBy: 'plan' | null
}

/** Settles which organizations, devices and times a query is about. Throws 404, 403 and 400. */
export async function openGps(ctx: FleetContext, query: GpsQuery, cursor?: GpsCursor): Promise<GpsRequest> {
  const since = query.since === undefined ? undefined : parseMomentToken(query.since)
  const isAskedFor = (part: Included) => query.include?.includes(part) ?? false
  const found = await mappedOrganizations(
    ctx,
    query.orgId,
    isAskedFor('coverage') ? ['fleetGps', 'coverage'] : ['fleetGps'],
  )
  const members = query.groupId === undefined ? undefined : await groupMembers(ctx, found, query.groupId)
  const organizations = found.map((organization) => ({
    ...organization,
    windowMs: Math.min(query.sinceMinutes * minuteMs, organization.historyDays * dayMs),
  }))
  const isLimited = organizations.some(({ windowMs }) => windowMs < query.sinceMinutes * minuteMs)
  return {
    query,
    include: new Set<Included>((query.include as Included[] | undefined) ?? defaultInclude),
    organizations,
    members,
    since,
    cursor,
    limitedBy: isLimited ? 'plan' : null,
  }
}

/** Reads the picture a request asks for. */
export async function readGps(ctx: FleetContext, fleet: FleetMaps, request: GpsRequest): Promise<GpsPicture> {
  const { include, organizations, cursor } = request
  const isFirstPage = cursor === undefined
  const startedMs = ctx.clock()
  const [maps, coverage, dwells] = await Promise.all([
    include.has('devices') || include.has('trails')
      ? Promise.all(
          organizations.map(({ organizationId, windowMs }) => fleet.live.read(organizationId, startedMs - windowMs)),
        )
      : [],
    include.has('coverage') && isFirstPage ? readCoverage(fleet, request) : undefined,
    include.has('dwells') && isFirstPage
      ? fleet.dwells.read({ ...scopeOf(request), organizations: windowsOf(organizations) })
      : undefined,
  ])
  const nowMs = ctx.clock()
  const asOf =
    cursor?.asOf ?? momentToken({ epoch: fleet.revisions.epoch, revision: fleet.revisions.current(), timeMs: nowMs })
  const windows = maps.map((map, index) => ({ map, fromMs: nowMs - (organizations[index]?.windowMs ?? 0) }))
  const { selection, gone: left } = select(fleet, request, windows, asOf, nowMs)
  const since = sinceHere(fleet, request)
  const isNews = ({ revision, isGone }: { revision: number; isGone: boolean }) =>
    since ? revision > since.revision : !isGone
  const stays = await markDeleted(ctx, windows, dwells?.entries ?? [])
  const shown = { coverage: (coverage?.entries ?? []).filter(isNews), dwells: stays.filter(isNews) }
  const gone = isFirstPage ? [...new Set([...left, ...(await unseenDepartures(ctx, request, windows, since))])] : []
  const longestMs = Math.max(0, ...organizations.map(({ windowMs }) => windowMs))
  return {
    asOf,
    nowMs,
    window: {
      from: new Date(nowMs - longestMs).toISOString(),
      to: new Date(nowMs + clockAheadMs).toISOString(),
      limitedBy: request.limitedBy,
    },
    h3Resolution: coverage?.facts.h3Resolution ?? null,
    selection,
    ...shown,
    trails: include.has('trails') ? await readTrails(fleet, windows, selection, nowMs) : undefined,
    gone,
    next: selection.next && { asOf, after: selection.next },
    etag: etagOf(fleet, request, selection, shown, gone, coverage?.facts.h3Resolution),
  }
}

/** The moment the reader has seen, when it was one of this process; of others only the time means anything here. */
const sinceHere = (fleet: FleetMaps, { since }: GpsRequest): Moment | undefined =>
  since?.epoch === fleet.revisions.epoch ? since : undefined

function select(fleet: FleetMaps, request: GpsRequest, windows: MapWindow[], asOf: string, nowMs: number) {
  const { query, members, cursor } = request
  const filter: DeviceFilter = { bbox: query.bbox, tags: query.tag, members, rat: query.rat, plmn: query.plmn }
  const key = filterKey(request)
  const isFiltered = !isOpen(filter)
  const moment = sinceHere(fleet, request)
  const seen: Seen | undefined = moment && {
    ...moment,
    deviceIds: isFiltered && query.since !== undefined ? fleet.seen.recall(key, query.since) : undefined,
  }
  const after = cursor?.after
  const pick = () => selectDevices(windows, { filter, limit: maxDevices, after, seen, nowMs, collectIds: isFiltered })
  // Who is in a group can change without anything in the maps.
  const selection = seen || members ? pick() : fleet.selections.keep(JSON.stringify([key, after]), windows, nowMs, pick)
  if (selection.matchingIds) fleet.seen.remember(key, asOf, selection.matchingIds)
  if (moment) {
    const departed = windows.flatMap(({ map }) => map.goneSince(moment.revision))
    return { selection, gone: [...selection.leftIds, ...departed] }
  }
  // Nothing is known of what this reader saw: whoever does not pass now may have passed then.
  return { selection, gone: query.since === undefined ? [] : hiddenBy(selection, windows) }
}

const hiddenBy = ({ matchingIds }: Selection, windows: readonly MapWindow[]): string[] =>
  windows.flatMap(({ map }) =>
    [...map.devices()].map(({ entry }) => entry.deviceId).filter((id) => matchingIds && !matchingIds.has(id)),
  )

/** Departures from before this process watched: what the audit rows tell. */
async function unseenDepartures(
  ctx: FleetContext,
  request: GpsRequest,
  windows: readonly MapWindow[],
  since: Moment | undefined,
): Promise<string[]> {
  if (!request.since) return []
  const unwatched = windows.filter(({ map }) => !since || map.knownSince() > since.revision)
  if (unwatched.length === 0) return []
  const ids = unwatched.map(({ map }) => map.organizationId)
  return departedSince(ctx.pool, ids, request.since.timeMs)
}

/** The list of dwells is shared and lives a while, but what a device did that is deleted is gone for every reader at once. */
async function markDeleted(
  ctx: FleetContext,
  windows: readonly MapWindow[],
  entries: GpsPicture['dwells'],
): Promise<GpsPicture['dwells']> {
  const deviceIds = [...new Set(entries.map(({ item }) => item.row.deviceId))]
  const unmapped = deviceIds.filter((deviceId) => !windows.some(({ map }) => map.device(deviceId)))
  if (unmapped.length === 0) return entries
  const existing = await existingDevices(ctx.pool, unmapped)
  const deleted = new Set(unmapped.filter((deviceId) => !existing.has(deviceId)))
  return entries.map((entry) => (deleted.has(entry.item.row.deviceId) ? { ...entry, isGone: true } : entry))
}

const scopeOf = ({ query, members }: GpsRequest) => ({
  bbox: query.bbox,
  groupId: query.groupId,
  members,
  tags: query.tag,
})

const windowsOf = (organizations: readonly OrganizationView[]) =>
  organizations.map(({ organizationId, windowMs }) => ({ organizationId, windowMs }))

function readCoverage(fleet: FleetMaps, request: GpsRequest): ReturnType<CoverageLists['read']> {
  const { query, organizations } = request
  const { rat, plmn, zoom } = query
  const h3Resolution = query.h3Resolution ?? (zoom === undefined ? undefined : resolutionForZoom(zoom))
  const covered = windowsOf(organizations.filter(({ coverage }) => coverage))
  return fleet.coverage.read({ ...scopeOf(request), organizations: covered, h3Resolution, rat, plmn })
}

async function readTrails(
  fleet: FleetMaps,
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
    const found = await deviceTrails(fleet.questdb, { organizationId, fromMs, toMs: nowMs + clockAheadMs, deviceIds })
    for (const { deviceId, ownedFromMs } of entries) {
      trails.set(
        deviceId,
        (found.get(deviceId) ?? []).filter(({ tsMs }) => tsMs >= (ownedFromMs ?? 0)),
      )
    }
  }
  return trails
}

/** What names a filter: of these organizations the same devices pass for everyone who sends it. */
function filterKey({ query, organizations }: GpsRequest): string {
  const { bbox, groupId, tag, rat, plmn } = query
  return JSON.stringify([windowsOf(organizations), bbox, groupId, tag, rat, plmn])
}

/** Over what is shown, without its ages: the same as long as the data is. */
function etagOf(
  fleet: FleetMaps,
  { query, organizations, cursor }: GpsRequest,
  { digest }: Selection,
  { coverage, dwells }: Pick<GpsPicture, 'coverage' | 'dwells'>,
  gone: readonly string[],
  h3Resolution: number | undefined,
): string {
  const { since: _since, cursor: _cursor, ...filters } = query
  const cells = coverage.map(({ item, revision }) => `${item.h3} ${revision}`)
  const stays = dwells.map(({ item, revision }) => `${item.row.id} ${revision}`)
  const facts = [
    fleet.revisions.epoch,
    filters,
    windowsOf(organizations),
    cursor?.after,
    digest,
    h3Resolution,
    cells,
    stays,
    gone,
  ]
  return `W/"${createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 22)}"`
}
