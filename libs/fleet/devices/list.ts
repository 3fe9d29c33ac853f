import { authorize, organizationsWith } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type Device, type DeviceRow, deviceColumns, toDevice } from '#fleet/devices/device'
import type { DeviceStatus } from '#fleet/devices/status'
import { requireOrganization } from '#fleet/organizations/organizations'

/** What a device list can be narrowed by; the export uses the same. */
export type DeviceFilter = {
  orgId?: string | undefined
  status?: DeviceStatus | undefined
  /** Case-insensitive substring of name, serial, model or organization name. */
  q?: string | undefined
  /** All of them must be carried. */
  tag?: string[] | undefined
}

export type DevicePage = { items: Device[]; nextAfter: string | null }

/** The organizations a list looks into. Throws 404 for an `orgId` the caller does not see, 403 without `device:read`. */
async function listedOrganizations(ctx: FleetContext, orgId: string | undefined): Promise<string[] | 'all'> {
  if (orgId === undefined) return organizationsWith(ctx.principal, 'device:read')
  await requireOrganization(ctx, orgId)
  authorize(ctx.principal, orgId, 'device:read')
  return [orgId]
}

/** A page of devices, newest first (`device:read`). */
export async function listDevices(
  ctx: FleetContext,
  filter: DeviceFilter,
  page: { limit: number; after: string | undefined },
): Promise<DevicePage> {
  const organizations = await listedOrganizations(ctx, filter.orgId)
  const rows =
    filter.q === undefined
      ? await selectDevices(ctx, filter, organizations, page)
      : await searchDevices(ctx, filter, filter.q.toLowerCase(), organizations, page)
  const items = rows.slice(0, page.limit).map(toDevice)
  return { items, nextAfter: rows.length > page.limit ? (items.at(-1)?.id ?? null) : null }
}

type Range = { limit: number; after: string | undefined }

/** Values and conditions of one statement; `organizations` 'all' adds none, one is an equality the index can follow. */
function conditionsOf(filter: DeviceFilter, organizations: string[] | 'all', range: Range) {
  const values: unknown[] = []
  const bind = (value: unknown) => `$${values.push(value)}`
  const conditions = [
    ...(organizations === 'all'
      ? []
      : organizations.length === 1
        ? [`d.organization_id = ${bind(organizations[0])}`]
        : [`d.organization_id = ANY(${bind(organizations)}::uuid[])`]),
    ...(range.after === undefined ? [] : [`d.id < ${bind(range.after)}`]),
    ...(filter.status === undefined ? [] : [`d.status = ${bind(filter.status)}`]),
    ...(filter.tag === undefined ? [] : [`d.tags @> ${bind(filter.tag)}::text[]`]),
  ]
  return { values, conditions, bind }
}

const selectSql = (conditions: readonly string[], limit: string): string =>
  `SELECT ${deviceColumns} FROM device d ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
    ORDER BY d.id DESC LIMIT ${limit}`

async function selectDevices(
  ctx: FleetContext,
  filter: DeviceFilter,
  organizations: string[] | 'all',
  range: Range,
): Promise<DeviceRow[]> {
  const { values, conditions, bind } = conditionsOf(filter, organizations, range)
  const { rows } = await ctx.pool.query<DeviceRow>(selectSql(conditions, bind(range.limit + 1)), values)
  return rows
}

/**
 * Organizations whose own name matches contribute all their devices; the others are searched by trigram. The two lists
 * are merged by id, so that the page's order and its keyset stay one.
 */
async function searchDevices(
  ctx: FleetContext,
  filter: DeviceFilter,
  text: string,
  organizations: string[] | 'all',
  range: Range,
): Promise<DeviceRow[]> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  const { rows: named } = await ctx.pool.query<{ id: string }>(
    'SELECT id FROM organization WHERE lower(name) LIKE $1 AND ($2::uuid[] IS NULL OR id = ANY($2))',
    [pattern, organizations === 'all' ? null : organizations],
  )
  const namedIds = named.map(({ id }) => id)
  const others = organizations === 'all' ? 'all' : organizations.filter((id) => !namedIds.includes(id))
  const [ofNamed, ofOthers] = await Promise.all([
    namedIds.length > 0 ? selectDevices(ctx, filter, namedIds, range) : [],
    others === 'all' || others.length > 0 ? searchWithin(ctx, filter, pattern, others, range) : [],
  ])
  const merged = new Map([...ofNamed, ...ofOthers].map((row) => [row.id, row]))
  return [...merged.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, range.limit + 1)
}

// A shorter word has no trigram to look up, and reading the whole index costs more than reading the rows in order;
// the expression keeps the planner from trying.
const trigramInside = /[\p{L}\p{N}]{3}/u

async function searchWithin(
  ctx: FleetContext,
  filter: DeviceFilter,
  pattern: string,
  organizations: string[] | 'all',
  range: Range,
): Promise<DeviceRow[]> {
  const { values, conditions, bind } = conditionsOf(filter, organizations, range)
  const searched = [
    ...conditions,
    `${trigramInside.test(pattern) ? 'd.search' : "(d.search || '')"} LIKE ${bind(pattern)}`,
  ]
  const { rows } = await ctx.pool.query<DeviceRow>(selectSql(searched, bind(range.limit + 1)), values)
  return rows
}
