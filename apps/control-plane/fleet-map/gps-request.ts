import type { FleetContext } from '#fleet/context'
import { groupMembers, type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import { type Moment, parseMomentToken } from '#fleet-map/revisions'
import type { DevicePosition } from '#fleet-map/selection'
import type { GpsQuery, Included } from './query.ts'

/** Where a page of devices ended, and what its answer showed of time and change. */
export type GpsCursor = { asOf: string; after: DevicePosition }

export type OrganizationView = MappedOrganization & { windowMs: number }

const minuteMs = 60_000
const dayMs = 86_400_000
const defaultInclude: readonly Included[] = ['devices', 'coverage', 'dwells']

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

/** Which devices a request is about. */
export const scopeOf = ({ query, members }: GpsRequest) => ({
  bbox: query.bbox,
  groupId: query.groupId,
  members,
  tags: query.tag,
})

/** Which organizations, and how far back in each. */
export const windowsOf = (organizations: readonly OrganizationView[]) =>
  organizations.map(({ organizationId, windowMs }) => ({ organizationId, windowMs }))

/** What names a filter: of these organizations the same devices pass for everyone who sends it. */
export function filterKey({ query, organizations }: GpsRequest): string {
  const { bbox, groupId, tag, rat, plmn } = query
  return JSON.stringify([windowsOf(organizations), bbox, groupId, tag, rat, plmn])
}

/** The same request of a reader who has seen everything up to `since`, an `asOf`. Throws 400 when it is none. */
export const sinceRequest = (request: GpsRequest, since: string | undefined): GpsRequest => ({
  ...request,
  query: { ...request.query, since },
  since: since === undefined ? undefined : parseMomentToken(since),
})
