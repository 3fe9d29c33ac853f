import { notFound } from '#core/errors'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { DeviceStatus } from '#fleet/devices/status'
import type { Queryable } from '#postgres/pool'

/** What devices of one organization must match. An empty filter matches all of them. */
export type DeviceFilter = {
  status?: DeviceStatus | undefined
  /** Case-insensitive substring of name, serial, model or organization name. */
  q?: string | undefined
  /** The device must have all of these tags. */
  tag?: string[] | undefined
  /** The last position of the device must be inside this place. */
  placeId?: string | undefined
}

/** SQL condition on device `d`, with its values. */
export type Matching = { condition: string; values: unknown[] }

/** The pattern of a search for LIKE, in which wildcards are literal. */
export const searchPattern = (q: string): string => `%${q.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`

/**
 * The condition for the devices of an organization that match a filter; `first` is the number of its first parameter. The
 * verb must authorize the caller. Throws 404 for a place that the organization does not have, and 403 without `fleet:read`
 * for a place.
 */
export async function matchingDevices(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  { organizationId, filter, first = 1 }: { organizationId: string; filter: DeviceFilter; first?: number },
): Promise<Matching> {
  const values: unknown[] = []
  const bind = (value: unknown) => `$${values.push(value) + first - 1}`
  const { status, q, tag, placeId } = filter
  const conditions = [`d.organization_id = ${bind(organizationId)}`]
  if (status !== undefined) conditions.push(`d.status = ${bind(status)}`)
  if (tag !== undefined) conditions.push(`d.tags @> ${bind(tag)}::text[]`)
  if (placeId !== undefined) {
    authorize(ctx.principal, organizationId, 'fleet:read')
    await requirePlace(db, organizationId, placeId)
    conditions.push(
      `EXISTS (SELECT FROM place WHERE place.id = ${bind(placeId)} AND place_contains(place, d.last_lat, d.last_lon))`,
    )
  }
  if (q !== undefined && !(await isNamed(db, organizationId, searchPattern(q)))) {
    conditions.push(`d.search LIKE ${bind(searchPattern(q))}`)
  }
  return { condition: conditions.join(' AND '), values }
}

async function requirePlace(db: Queryable, organizationId: string, placeId: string): Promise<void> {
  const { rowCount } = await db.query('SELECT FROM place WHERE organization_id = $1 AND id = $2', [
    organizationId,
    placeId,
  ])
  if (!rowCount) throw notFound('place', placeId)
}

/** A search that matches the organization's name matches all its devices. */
async function isNamed(db: Queryable, organizationId: string, pattern: string): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM organization WHERE id = $1 AND lower(name) LIKE $2', [
    organizationId,
    pattern,
  ])
  return Boolean(rowCount)
}
