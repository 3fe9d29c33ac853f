import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type Entitlement, readEntitlement } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

type Group = {
  id: string
  name: string
  smartTags: string[]
  explicitDeviceCount: number
  effectiveDeviceCount: number
  createdAt: string
  updatedAt: string
}

export type GroupReference = { organizationId: string; groupId: string }

/** A group with its revision, which is its entity tag. */
export type GroupRevision = { group: Group; revision: string }

type GroupRow = {
  id: string
  name: string
  smart_tags: string[]
  revision: string
  explicit_count: number
  effective_count: number
  created_at: Date
  updated_at: Date
}

// $1 organization, $2 whether its plan includes smart tags.
const selectGroups = `
  SELECT g.id, g.name, g.smart_tags, g.revision, g.created_at, g.updated_at,
    (SELECT count(*)::int FROM device_group_member m
      WHERE m.organization_id = g.organization_id AND m.group_id = g.id) AS explicit_count,
    (SELECT count(*)::int FROM device d
      WHERE d.organization_id = g.organization_id AND d.tags && effective.smart_tags)
    + (SELECT count(*)::int FROM device_group_member m JOIN device d ON d.id = m.device_id
        WHERE m.organization_id = g.organization_id AND m.group_id = g.id AND NOT d.tags && effective.smart_tags)
      AS effective_count
  FROM device_group g
  CROSS JOIN LATERAL (SELECT CASE WHEN $2::boolean THEN g.smart_tags ELSE '{}' END AS smart_tags) effective
  WHERE g.organization_id = $1`

const toGroup = (row: GroupRow): Group => ({
  id: row.id,
  name: row.name,
  smartTags: row.smart_tags,
  explicitDeviceCount: row.explicit_count,
  effectiveDeviceCount: row.effective_count,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

/** Reads a group with its counts, for verbs that have authorized the caller. Throws 404. */
export async function readGroup(db: Queryable, entitlement: Entitlement, groupId: string): Promise<GroupRevision> {
  const { rows } = await db.query<GroupRow>(`${selectGroups} AND g.id = $3`, [
    entitlement.organizationId,
    entitlement.plan.smartTagGroups,
    groupId,
  ])
  if (!rows[0]) throw notFound('group', groupId)
  return { group: toGroup(rows[0]), revision: rows[0].revision }
}

type GroupList = {
  organizationId: string
  /** Only groups whose effective members include this device. */
  deviceId?: string | undefined
  page: PageRequest
}

// $5 device.
const hasDevice = `EXISTS (SELECT FROM device d WHERE d.organization_id = $1 AND d.id = $5
  AND ($2::boolean AND d.tags && g.smart_tags OR EXISTS (SELECT FROM device_group_member m
    WHERE m.organization_id = $1 AND m.group_id = g.id AND m.device_id = d.id)))`

/** The organization's groups with their counts, newest first (`group:read`). */
export async function listGroups(
  ctx: FleetContext,
  { organizationId, deviceId, page }: GroupList,
): Promise<Page<Group>> {
  authorize(ctx.principal, organizationId, 'group:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { plan } = await readEntitlement(ctx, connection, organizationId)
    const { rows } = await connection.query<GroupRow>(
      `${selectGroups} AND ($3::uuid IS NULL OR g.id < $3) AND ($5::uuid IS NULL OR ${hasDevice})
       ORDER BY g.id DESC LIMIT $4`,
      [organizationId, plan.smartTagGroups, page.after ?? null, page.limit + 1, deviceId ?? null],
    )
    return pageOf(rows, page.limit, toGroup)
  })
}

/** One group (`group:read`). Throws 404. */
export async function getGroup(ctx: FleetContext, { organizationId, groupId }: GroupReference): Promise<GroupRevision> {
  await authorizeObject(ctx, organizationId, 'group:read', 'group', groupId)
  if (!isUuid(groupId)) throw notFound('group', groupId)
  return tenantTransaction(ctx, [organizationId], async (connection) =>
    readGroup(connection, await readEntitlement(ctx, connection, organizationId), groupId),
  )
}

/** Locks a group's row until the transaction ends. Throws 404. */
export async function lockGroup(db: Queryable, organizationId: string, groupId: string): Promise<void> {
  const { rowCount } = isUuid(groupId)
    ? await db.query('SELECT 1 FROM device_group WHERE organization_id = $1 AND id = $2 FOR UPDATE', [
        organizationId,
        groupId,
      ])
    : { rowCount: 0 }
  if (!rowCount) throw notFound('group', groupId)
}
