import { notFound } from '#core/errors'
import { authorize, holds, organizationsWith } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { type Device, deviceColumns } from '#fleet/devices/device'
import { asksLive, isLiveSort, type LiveSelection, type LiveSort } from '#fleet/devices/live-filter'
import { readInLiveOrder } from '#fleet/devices/live-order'
import {
  type DeviceConditions,
  type DeviceFilter,
  filterConditions,
  groupConditions,
  isFoundSql,
  searchPattern,
  whereAll,
} from '#fleet/devices/matching'
import { type DeviceSort, readSorted } from '#fleet/devices/sorted'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { queryEntities, queryEntity } from '#postgres/entities'

/** The filter of a device list or export. */
type DeviceListFilter = DeviceFilter & { orgId?: string | undefined; deviceId?: string[] | undefined }

/** The organizations of a list. Throws 404 for an `orgId` in which the caller holds no scope, 403 without `device:read`. */
async function listedOrganizations(ctx: FleetContext, orgId: string | undefined): Promise<Organizations> {
  if (orgId === undefined) return organizationsWith(ctx.principal, 'device:read')
  authorize(ctx.principal, orgId, 'device:read')
  await requireOrganization(ctx, orgId)
  return [orgId]
}

/** The organization of a place or group, which must be one of these. Throws 404, and 403 without the scope in it. */
async function organizationOf(
  ctx: FleetContext,
  { table, id, scope }: { table: 'place' | 'device_group'; id: string; scope: Scope },
  organizations: Organizations,
): Promise<string[]> {
  const { rows } = await ctx.pool.query<{ organization_id: string }>(
    `SELECT organization_id FROM ${table} WHERE id = $1 AND ($2::uuid[] IS NULL OR organization_id = ANY ($2))`,
    [id, organizations === 'all' ? null : organizations],
  )
  const [row] = rows
  if (!row) throw notFound(table === 'place' ? 'place' : 'group', id)
  authorize(ctx.principal, row.organization_id, scope)
  return [row.organization_id]
}

/** A list request. `live` is what the live map selects; it is needed if the filter or the order asks the live map. */
export type DeviceListRequest = {
  filter: DeviceListFilter
  sort?: DeviceSort | LiveSort | undefined
  live?: LiveSelection | undefined
}

/** The organizations whose devices can match. Throws 404, and 403 for a filter that needs a scope which the caller lacks. */
async function matchingOrganizations(ctx: FleetContext, { filter, live }: DeviceListRequest): Promise<Organizations> {
  const { orgId, placeId, groupId, bbox } = filter
  let organizations = await listedOrganizations(ctx, orgId)
  if (placeId !== undefined)
    organizations = await organizationOf(ctx, { table: 'place', id: placeId, scope: 'fleet:read' }, organizations)
  if (groupId !== undefined)
    organizations = await organizationOf(
      ctx,
      { table: 'device_group', id: groupId, scope: 'group:read' },
      organizations,
    )
  if (bbox !== undefined) organizations = located(ctx, orgId, organizations)
  if (live === undefined) return organizations
  const listed = organizations
  return listed === 'all' ? [...live.organizationIds] : listed.filter((id) => live.organizationIds.includes(id))
}

/** Those of the organizations in which the caller can read positions. Throws 403 for none, and for an `orgId` without. */
function located({ principal }: FleetContext, orgId: string | undefined, organizations: Organizations): Organizations {
  if (orgId !== undefined) authorize(principal, orgId, 'fleet:read')
  organizationsWith(principal, 'fleet:read')
  return organizations === 'all' ? 'all' : organizations.filter((id) => holds(principal, id, 'fleet:read'))
}

/** A page of devices, newest first or in the order of `sort` (`device:read`). Throws 404 and 403. */
export async function listDevices(
  ctx: FleetContext,
  { page, ...request }: DeviceListRequest & { page: PageRequest },
): Promise<Page<Device>> {
  const { filter, sort, live } = request
  const isLive = asksLive(filter) || isLiveSort(sort)
  if (isLive !== (live !== undefined)) throw new Error('The live map was not asked for the list.')
  const organizations = await matchingOrganizations(ctx, request)
  if (live !== undefined && (sort === undefined || isLiveSort(sort)))
    return readInLiveOrder(ctx, await allConditions(ctx, filter, organizations), live, page)
  if (sort !== undefined && !isLiveSort(sort)) {
    const selection = await allConditions(ctx, filter, organizations)
    const among = live && { conditions: ['d.id = ANY ($liveIds::uuid[])'], values: { liveIds: live.ids } }
    return readSorted(ctx, among ? both(selection, among) : selection, sort, page)
  }
  const devices =
    filter.q === undefined
      ? await selectDevices(ctx, filter, organizations, page)
      : await searchDevices(ctx, filter, searchPattern(filter.q), organizations, page)
  return pageOf(devices, page.limit, (device) => device)
}

type Organizations = string[] | 'all'

/** The conditions of a sorted list. A sorted list reads all matching rows anyway, so it searches in one statement. */
async function allConditions(
  ctx: FleetContext,
  filter: DeviceListFilter,
  organizations: Organizations,
): Promise<DeviceConditions> {
  const all = both(organizationConditions(organizations), await listConditions(ctx, filter, organizations))
  if (filter.q === undefined) return all
  const pattern = searchPattern(filter.q)
  const named = await organizationsNamed(ctx, pattern, organizations)
  const isFound = `(${isFoundSql()} OR d.organization_id = ANY($named::uuid[]))`
  return both(all, { conditions: [isFound], values: { pattern, named } })
}

const both = (one: DeviceConditions, other: DeviceConditions): DeviceConditions => ({
  conditions: [...one.conditions, ...other.conditions],
  values: { ...one.values, ...other.values },
})

/** A single organization becomes an equality, which uses the index. */
function organizationConditions(organizations: Organizations): DeviceConditions {
  if (organizations === 'all') return { conditions: [], values: {} }
  return organizations.length === 1
    ? { conditions: ['d.organization_id = $organizationId'], values: { organizationId: organizations[0] } }
    : { conditions: ['d.organization_id = ANY($organizationIds::uuid[])'], values: { organizationIds: organizations } }
}

const pageConditions = (organizations: Organizations, { after }: PageRequest): DeviceConditions =>
  both(
    organizationConditions(organizations),
    after === undefined ? { conditions: [], values: {} } : { conditions: ['d.id < $after'], values: { after } },
  )

/** With a group, the organizations are that of the group. */
async function listConditions(
  ctx: FleetContext,
  { deviceId, groupId, ...filter }: DeviceListFilter,
  organizations: Organizations,
): Promise<DeviceConditions> {
  let conditions = filterConditions(filter)
  if (groupId !== undefined && organizations !== 'all')
    conditions = both(conditions, await groupConditions(ctx, ctx.pool, organizations, groupId))
  if (deviceId === undefined) return conditions
  return both(conditions, { conditions: ['d.id = ANY($deviceIds::uuid[])'], values: { deviceIds: deviceId } })
}

/** Returns SQL for the newest of the devices that `from` and `where` select, with the columns of a `Device`. */
const newestSql = (from: string, where: string): string =>
  `SELECT ${deviceColumns} FROM (SELECT * FROM ${from} d ${where} ORDER BY d.id DESC LIMIT $limit) d ORDER BY d.id DESC`

async function selectDevices(
  ctx: FleetContext,
  filter: DeviceListFilter,
  organizations: Organizations,
  page: PageRequest,
): Promise<Device[]> {
  const scope = pageConditions(organizations, page)
  const conditions = await listConditions(ctx, filter, organizations)
  return filter.tag === undefined
    ? readNewest(ctx, both(scope, conditions), page)
    : readNewestIndexed(ctx, { organizations, scope, conditions }, page)
}

/** Reads in order of the ids until the page is full. */
const readNewest = ({ pool }: FleetContext, { conditions, values }: DeviceConditions, page: PageRequest) =>
  queryEntities<Device>(pool, newestSql('device', whereAll(conditions)), { ...values, limit: page.limit + 1 })

type IndexedSelection = { organizations: Organizations; scope: DeviceConditions; conditions: DeviceConditions }

/** Reads devices of `scope` with conditions for which there is an inverted index. */
async function readNewestIndexed(
  ctx: FleetContext,
  { organizations, scope, conditions }: IndexedSelection,
  page: PageRequest,
): Promise<Device[]> {
  const all = both(scope, conditions)
  const read = (from: string, where: string) =>
    queryEntities<Device>(ctx.pool, newestSql(from, where), { ...all.values, limit: page.limit + 1 })
  const matching = `SELECT d.id FROM device d ${whereAll(all.conditions)}`
  const expected = await estimatedRows(ctx, matching, all.values)
  if (expected > fewRows) {
    // The newest devices of several organizations can be far apart.
    const isDense = organizations === 'all' || organizations.length === 1
    const newest = `(SELECT * FROM device d ${whereAll(scope.conditions)} ORDER BY d.id DESC LIMIT ${lookedThrough})`
    const found = isDense ? await read(newest, whereAll(conditions.conditions)) : []
    if (found.length > page.limit) return found
    if (expected > sortedAtMost) return readNewest(ctx, all, page)
  }
  // OFFSET 0 prevents the search in order of the ids.
  const newestIds = `SELECT id FROM (${matching} OFFSET 0) matching ORDER BY id DESC LIMIT $limit`
  return read('device', `WHERE d.id IN (${newestIds})`)
}

/**
 * Postgres expects devices with a tag or a word evenly among the others, and may look through them from the newest one on. If only few
 * or old ones match, that takes 0.1 to 1.1 s with a million devices. If Postgres expects few rows, such a list sorts the ids of all of
 * them. Otherwise, it looks through a number of devices first, in about 3 ms. If these do not fill the page, it sorts the ids of all that
 * match, unless they are too many.
 */
const fewRows = 5_000
const lookedThrough = 2_000
/** Sorting 30,000 ids takes about 16 ms, a million 0.5 s. */
const sortedAtMost = 50_000

/** Returns how many rows Postgres expects. */
async function estimatedRows(
  { pool }: FleetContext,
  statement: string,
  values: Readonly<Record<string, unknown>>,
): Promise<number> {
  type Plan = { 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }
  const plan = await queryEntity<Plan>(pool, `EXPLAIN (FORMAT JSON) ${statement}`, values)
  return plan['QUERY PLAN'][0].Plan['Plan Rows']
}

/**
 * Searches devices. Organizations whose name matches contribute all their devices; the devices of the others are searched
 * by trigram. The two lists are merged by id, so that the order and the positions of pages stay the same.
 */
async function searchDevices(
  ctx: FleetContext,
  filter: DeviceListFilter,
  pattern: string,
  organizations: Organizations,
  page: PageRequest,
): Promise<Device[]> {
  const namedIds = await organizationsNamed(ctx, pattern, organizations)
  const others = organizations === 'all' ? 'all' : organizations.filter((id) => !namedIds.includes(id))
  const [ofNamed, ofOthers] = await Promise.all([
    namedIds.length > 0 ? selectDevices(ctx, filter, namedIds, page) : [],
    others === 'all' || others.length > 0 ? searchWithin(ctx, filter, pattern, others, page) : [],
  ])
  const merged = new Map([...ofNamed, ...ofOthers].map((device) => [device.id, device]))
  return [...merged.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit + 1)
}

/** The ids of the organizations whose name matches. */
async function organizationsNamed(ctx: FleetContext, pattern: string, organizations: Organizations): Promise<string[]> {
  const { rows } = await ctx.pool.query<{ id: string }>(
    'SELECT id FROM organization WHERE text_folded(name) LIKE text_folded($1) AND ($2::uuid[] IS NULL OR id = ANY($2))',
    [pattern, organizations === 'all' ? null : organizations],
  )
  return rows.map(({ id }) => id)
}

// A shorter word has no trigram, and reading the whole index is slower than reading the rows in order. The expression
// prevents the planner from using the index.
const trigramInside = /[\p{L}\p{N}]{3}/u

async function searchWithin(
  ctx: FleetContext,
  filter: DeviceListFilter,
  pattern: string,
  organizations: Organizations,
  page: PageRequest,
): Promise<Device[]> {
  const scope = pageConditions(organizations, page)
  const isIndexed = trigramInside.test(pattern)
  const isFound = { conditions: [isFoundSql(isIndexed)], values: { pattern } }
  const conditions = both(await listConditions(ctx, filter, organizations), isFound)
  return isIndexed
    ? readNewestIndexed(ctx, { organizations, scope, conditions }, page)
    : readNewest(ctx, both(scope, conditions), page)
}
