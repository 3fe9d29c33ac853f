import { notFound } from '#core/errors'
import { authorize } from '#fleet/access/principal'
import { type ConfigState, configStateSql } from '#fleet/config-profiles/config-state'
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
  /** Whether the device runs what was applied to it. */
  configState?: ConfigState | undefined
}

/** One SQL condition on device `d`, with its named parameters. */
export type Matching = { condition: string; values: Record<string, unknown> }

/** The pattern of a search for LIKE, in which wildcards are literal. Postgres folds it like the text it searches. */
export const searchPattern = (q: string): string => `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`

/** Device `d` matches the parameter `pattern`. Without `indexed`, Postgres does not use the index of trigrams. */
export const isFoundSql = (indexed = true): string => {
  const [search, folded] = ['search', 'search_folded'].map((column) =>
    indexed ? `d.${column}` : `(d.${column} || '')`,
  )
  return `(d.search_folded IS NULL AND ${search} LIKE text_folded($pattern) OR ${folded} LIKE text_folded($pattern))`
}

/** SQL conditions on device `d` that must all hold, with their named parameters. */
export type DeviceConditions = { conditions: string[]; values: Record<string, unknown> }

export const whereAll = (conditions: readonly string[]): string =>
  conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''

/** The conditions for the members of a filter other than `q`. */
export function filterConditions({ status, tag, placeId, configState }: DeviceFilter): DeviceConditions {
  const isInside =
    'EXISTS (SELECT FROM place WHERE place.id = $placeId AND place_contains(place, d.last_lat, d.last_lon))'
  return {
    conditions: [
      ...(status === undefined ? [] : ['d.status = $status']),
      ...(placeId === undefined ? [] : [isInside]),
      ...(tag === undefined ? [] : ['d.tags @> $tag::text[]']),
      ...(configState === undefined ? [] : [`${configStateSql} = $configState`]),
    ],
    values: {
      ...(status !== undefined && { status }),
      ...(placeId !== undefined && { placeId }),
      ...(tag !== undefined && { tag }),
      ...(configState !== undefined && { configState }),
    },
  }
}

/**
 * The condition for the devices of an organization that match a filter. Its parameters are `organizationId` and the members
 * of the filter. The verb must authorize the caller. Throws 404 for a place that the organization does not have, and 403
 * without `fleet:read` for a place.
 */
export async function matchingDevices(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  { organizationId, filter }: { organizationId: string; filter: DeviceFilter },
): Promise<Matching> {
  const { q, placeId } = filter
  if (placeId !== undefined) {
    authorize(ctx.principal, organizationId, 'fleet:read')
    await requirePlace(db, organizationId, placeId)
  }
  const pattern = q === undefined ? undefined : searchPattern(q)
  const isSearch = pattern !== undefined && !(await isNamed(db, organizationId, pattern))
  const { conditions, values } = filterConditions(filter)
  return {
    condition: ['d.organization_id = $organizationId', ...conditions, ...(isSearch ? [isFoundSql()] : [])].join(
      ' AND ',
    ),
    values: { organizationId, ...values, ...(isSearch && { pattern }) },
  }
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
  const { rowCount } = await db.query(
    'SELECT FROM organization WHERE id = $1 AND text_folded(name) LIKE text_folded($2)',
    [organizationId, pattern],
  )
  return Boolean(rowCount)
}
