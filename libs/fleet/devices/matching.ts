import { notFound } from '#core/errors'
import { authorize } from '#fleet/access/principal'
import { type ConfigState, configStateSql } from '#fleet/config-profiles/config-state'
import type { FleetContext } from '#fleet/context'
import { asksLive, type LiveFilter } from '#fleet/devices/live-filter'
import type { DeviceStatus } from '#fleet/devices/status'
import { findEffectiveGroup, isEffectiveMemberSql } from '#fleet/groups/effective-members'
import type { Queryable } from '#postgres/pool'

/** What devices of one organization must match. An empty filter matches all of them. */
export type DeviceFilter = LiveFilter & {
  status?: DeviceStatus | undefined
  /** Case-insensitive substring of name, serial, model or organization name. */
  q?: string | undefined
  /** The device must have all of these tags. */
  tag?: string[] | undefined
  /** The last position of the device must be inside this place. */
  placeId?: string | undefined
  /** Whether the device runs what was applied to it. */
  configState?: ConfigState | undefined
  /** The device must be an effective member of this group. */
  groupId?: string | undefined
  firmware?: string | undefined
  /** West, south, east and north of a box in degrees, for the last position. west > east is a box across the antimeridian. */
  bbox?: readonly [west: number, south: number, east: number, north: number] | undefined
  /** The device must have reported within this time. */
  seenWithinMinutes?: number | undefined
  /** The device must have reported, but not within this time. */
  silentForMinutes?: number | undefined
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

const insidePlaceSql =
  'EXISTS (SELECT FROM place WHERE place.id = $placeId AND place_contains(place, d.last_lat, d.last_lon))'

/** The condition of each member of a filter that needs its value only. The parameter has the name of the member. */
const memberConditions = {
  status: 'd.status = $status',
  placeId: insidePlaceSql,
  tag: 'd.tags @> $tag::text[]',
  configState: `${configStateSql} = $configState`,
  firmware: 'd.firmware = $firmware',
  seenWithinMinutes: 'd.last_seen_at >= now() - make_interval(mins => $seenWithinMinutes::int)',
  silentForMinutes: 'd.last_seen_at < now() - make_interval(mins => $silentForMinutes::int)',
} as const satisfies { [Member in keyof DeviceFilter]?: string }

/** The conditions for the members of a filter other than `q`, `groupId` and those of the live map. */
export function filterConditions(filter: DeviceFilter): DeviceConditions {
  const members = Object.keys(memberConditions) as (keyof typeof memberConditions)[]
  const sent = members.filter((member) => filter[member] !== undefined)
  const box = boxConditions(filter.bbox)
  return {
    conditions: [...sent.map((member) => memberConditions[member]), ...box.conditions],
    values: { ...Object.fromEntries(sent.map((member) => [member, filter[member]])), ...box.values },
  }
}

function boxConditions(bbox: DeviceFilter['bbox']): DeviceConditions {
  if (bbox === undefined) return { conditions: [], values: {} }
  const [west, south, east, north] = bbox
  const isBetween = (lon: string) =>
    west <= east ? `${lon} BETWEEN $west AND $east` : `(${lon} >= $west OR ${lon} <= $east)`
  return {
    conditions: [
      'd.last_lat BETWEEN $south AND $north',
      // −180 and 180 are one meridian.
      `(${isBetween('d.last_lon')} OR abs(d.last_lon) = 180 AND ${isBetween('-d.last_lon')})`,
    ],
    values: { west, south, east, north },
  }
}

/** The condition for the effective members of a group of `$organizationId`. The verb must authorize the caller. Throws 404. */
export async function groupConditions(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  organizationIds: readonly string[],
  groupId: string,
): Promise<DeviceConditions> {
  const { id, smartTags } = await findEffectiveGroup(ctx, db, { organizationIds, groupId })
  return { conditions: [isEffectiveMemberSql], values: { groupId: id, smartTags } }
}

/** A filter with the devices that the live map found for it, which it needs if it asks the live map. */
export type FoundFilter = { filter: DeviceFilter; liveIds?: readonly string[] | undefined }

/**
 * The condition for the devices of an organization that match a filter. Its parameters are `organizationId` and the members
 * of the filter. The verb must authorize the caller. Throws 404 for a place or a group that the organization does not have, and 403
 * without `fleet:read` for a place or a box, or without `group:read` for a group.
 */
export async function matchingDevices(
  ctx: Pick<FleetContext, 'principal' | 'plans'>,
  db: Queryable,
  { organizationId, filter, liveIds }: FoundFilter & { organizationId: string },
): Promise<Matching> {
  const { q, placeId, groupId, bbox } = filter
  if (asksLive(filter) !== (liveIds !== undefined)) throw new Error('The live map was not asked for the filter.')
  if (placeId !== undefined || bbox !== undefined) authorize(ctx.principal, organizationId, 'fleet:read')
  if (placeId !== undefined) await requirePlace(db, organizationId, placeId)
  if (groupId !== undefined) authorize(ctx.principal, organizationId, 'group:read')
  const group = groupId === undefined ? undefined : await groupConditions(ctx, db, [organizationId], groupId)
  const pattern = q === undefined ? undefined : searchPattern(q)
  const isSearch = pattern !== undefined && !(await isNamed(db, organizationId, pattern))
  const { conditions, values } = filterConditions(filter)
  return {
    condition: [
      'd.organization_id = $organizationId',
      ...conditions,
      ...(group?.conditions ?? []),
      ...(liveIds ? ['d.id = ANY ($liveIds::uuid[])'] : []),
      ...(isSearch ? [isFoundSql()] : []),
    ].join(' AND '),
    values: { organizationId, ...values, ...group?.values, ...(liveIds && { liveIds }), ...(isSearch && { pattern }) },
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
