import { notFound } from '#core/errors'
import { authorize, organizationsWith } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type Device, type DeviceRow, deviceColumns, toDevice } from '#fleet/devices/device'
import { type DeviceFilter, searchPattern } from '#fleet/devices/matching'
import { type DeviceSort, readSorted } from '#fleet/devices/sorted'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'

/** The filter of a device list or export. */
export type DeviceListFilter = DeviceFilter & { orgId?: string | undefined; deviceId?: string[] | undefined }

/** The organizations of a list. Throws 404 for an `orgId` in which the caller holds no scope, 403 without `device:read`. */
async function listedOrganizations(ctx: FleetContext, orgId: string | undefined): Promise<string[] | 'all'> {
  if (orgId === undefined) return organizationsWith(ctx.principal, 'device:read')
  authorize(ctx.principal, orgId, 'device:read')
  await requireOrganization(ctx, orgId)
  return [orgId]
}

/** The organization of a place, which must be one of these. Throws 404, and 403 without `fleet:read` in it. */
async function organizationOfPlace(
  ctx: FleetContext,
  placeId: string,
  organizations: string[] | 'all',
): Promise<string[]> {
  const { rows } = await ctx.pool.query<{ organization_id: string }>(
    'SELECT organization_id FROM place WHERE id = $1 AND ($2::uuid[] IS NULL OR organization_id = ANY ($2))',
    [placeId, organizations === 'all' ? null : organizations],
  )
  const [row] = rows
  if (!row) throw notFound('place', placeId)
  authorize(ctx.principal, row.organization_id, 'fleet:read')
  return [row.organization_id]
}

/** A page of devices, newest first or in the order of `sort` (`device:read`). Throws 404 and 403. */
export async function listDevices(
  ctx: FleetContext,
  { filter, sort, page }: { filter: DeviceListFilter; sort?: DeviceSort | undefined; page: PageRequest },
): Promise<Page<Device>> {
  const listed = await listedOrganizations(ctx, filter.orgId)
  const organizations = filter.placeId === undefined ? listed : await organizationOfPlace(ctx, filter.placeId, listed)
  if (sort !== undefined) {
    const selection = await sortedSelection(ctx, filter, organizations)
    return readSorted(ctx, selection, sort, page)
  }
  const rows =
    filter.q === undefined
      ? await selectDevices(ctx, filter, organizations, page)
      : await searchDevices(ctx, filter, searchPattern(filter.q), organizations, page)
  return pageOf(rows, page.limit, toDevice)
}

/** The conditions of a sorted list. A sorted list reads all matching rows anyway, so it searches in one statement. */
async function sortedSelection(ctx: FleetContext, filter: DeviceListFilter, organizations: string[] | 'all') {
  const { values, scope, bind, ...rest } = conditionsOf(filter, organizations, { limit: 0, after: undefined })
  const conditions = [...scope, ...rest.conditions]
  if (filter.q !== undefined) {
    const pattern = searchPattern(filter.q)
    const named = await organizationsNamed(ctx, pattern, organizations)
    conditions.push(`(d.search LIKE ${bind(pattern)} OR d.organization_id = ANY(${bind(named)}::uuid[]))`)
  }
  return { values, conditions, bind }
}

/**
 * Values and conditions of one statement. `scope`: those for the organizations and the page. A single organization becomes an
 * equality, which uses the index.
 */
function conditionsOf(filter: DeviceListFilter, organizations: string[] | 'all', page: PageRequest) {
  const values: unknown[] = []
  const bind = (value: unknown) => `$${values.push(value)}`
  const scope = [
    ...(organizations === 'all'
      ? []
      : organizations.length === 1
        ? [`d.organization_id = ${bind(organizations[0])}`]
        : [`d.organization_id = ANY(${bind(organizations)}::uuid[])`]),
    ...(page.after === undefined ? [] : [`d.id < ${bind(page.after)}`]),
  ]
  const conditions = [
    ...(filter.status === undefined ? [] : [`d.status = ${bind(filter.status)}`]),
    ...(filter.placeId === undefined
      ? []
      : [
          `EXISTS (SELECT FROM place WHERE place.id = ${bind(filter.placeId)} AND place_contains(place, d.last_lat, d.last_lon))`,
        ]),
    ...(filter.deviceId === undefined ? [] : [`d.id = ANY(${bind(filter.deviceId)}::uuid[])`]),
    ...(filter.tag === undefined ? [] : [`d.tags @> ${bind(filter.tag)}::text[]`]),
  ]
  return { values, scope, conditions, bind }
}

const whereAll = (conditions: readonly string[]): string =>
  conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''

const selectSql = (where: string, limit: string): string =>
  `SELECT ${deviceColumns} FROM device d ${where} ORDER BY d.id DESC LIMIT ${limit}`

async function selectDevices(
  ctx: FleetContext,
  filter: DeviceListFilter,
  organizations: string[] | 'all',
  page: PageRequest,
): Promise<DeviceRow[]> {
  const { values, scope, conditions, bind } = conditionsOf(filter, organizations, page)
  const where = whereAll([...scope, ...conditions])
  const limit = bind(page.limit + 1)
  const read = async (devices: string) => {
    const text = `SELECT ${deviceColumns} FROM (${devices}) d ${whereAll(conditions)} ORDER BY d.id DESC LIMIT ${limit}`
    return (await ctx.pool.query<DeviceRow>(text, values)).rows
  }
  if (filter.tag !== undefined) {
    // The newest devices of several organizations can be far apart.
    const isDense = organizations === 'all' || organizations.length === 1
    const newest = isDense
      ? await read(`SELECT * FROM device d ${whereAll(scope)} ORDER BY d.id DESC LIMIT ${lookedThrough}`)
      : []
    if (newest.length > page.limit) return newest
    const matching = `SELECT d.id FROM device d ${where}`
    if ((await estimatedRows(ctx, matching, values.slice(0, -1))) <= sortedAtMost) {
      // OFFSET 0 prevents the search in order of the ids.
      const newestIds = `SELECT id FROM (${matching} OFFSET 0) matching ORDER BY id DESC LIMIT ${limit}`
      return read(`SELECT * FROM device WHERE id IN (${newestIds})`)
    }
  }
  const { rows } = await ctx.pool.query<DeviceRow>(selectSql(where, limit), values)
  return rows
}

/**
 * Postgres expects devices with a tag evenly among the others, and looks through them from the newest one on. If only old ones have
 * the tag, that takes 0.4 to 1.1 s with a million devices. A list by tags therefore looks through this number of devices first, in
 * about 2 ms. If they do not fill the page, it sorts the ids of all matching devices, unless they are too many.
 */
const lookedThrough = 2_000
/** Sorting 30,000 ids takes about 16 ms, a million 0.5 s. */
const sortedAtMost = 50_000

/** Returns how many rows Postgres expects. */
async function estimatedRows({ pool }: FleetContext, text: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `EXPLAIN (FORMAT JSON) ${text}`,
    [...values],
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}

/**
 * Searches devices. Organizations whose name matches contribute all their devices; the devices of the others are searched
 * by trigram. The two lists are merged by id, so that the order and the positions of pages stay the same.
 */
async function searchDevices(
  ctx: FleetContext,
  filter: DeviceListFilter,
  pattern: string,
  organizations: string[] | 'all',
  page: PageRequest,
): Promise<DeviceRow[]> {
  const namedIds = await organizationsNamed(ctx, pattern, organizations)
  const others = organizations === 'all' ? 'all' : organizations.filter((id) => !namedIds.includes(id))
  const [ofNamed, ofOthers] = await Promise.all([
    namedIds.length > 0 ? selectDevices(ctx, filter, namedIds, page) : [],
    others === 'all' || others.length > 0 ? searchWithin(ctx, filter, pattern, others, page) : [],
  ])
  const merged = new Map([...ofNamed, ...ofOthers].map((row) => [row.id, row]))
  return [...merged.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit + 1)
}

/** The ids of the organizations whose name matches. */
async function organizationsNamed(
  ctx: FleetContext,
  pattern: string,
  organizations: string[] | 'all',
): Promise<string[]> {
  const { rows } = await ctx.pool.query<{ id: string }>(
    'SELECT id FROM organization WHERE lower(name) LIKE $1 AND ($2::uuid[] IS NULL OR id = ANY($2))',
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
  organizations: string[] | 'all',
  page: PageRequest,
): Promise<DeviceRow[]> {
  const { values, scope, conditions, bind } = conditionsOf(filter, organizations, page)
  const searched = [
    ...scope,
    ...conditions,
    `${trigramInside.test(pattern) ? 'd.search' : "(d.search || '')"} LIKE ${bind(pattern)}`,
  ]
  const { rows } = await ctx.pool.query<DeviceRow>(selectSql(whereAll(searched), bind(page.limit + 1)), values)
  return rows
}
