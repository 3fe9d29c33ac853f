import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeFound, authorizeObject } from '#fleet/access/authorize-object'
import type { FleetContext } from '#fleet/context'
import { type Device, type DeviceRow, deviceColumns, toDevice } from '#fleet/devices/device'
import { requireDevices } from '#fleet/devices/require-devices'
import { auditGroup } from '#fleet/groups/change'
import { findEffectiveGroup } from '#fleet/groups/effective-members'
import { type GroupReference, lockGroup } from '#fleet/groups/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

type Membership = 'explicit' | 'smartTag' | 'both'
type GroupMember = Device & { membership: Membership }

// $1 organization, $2 group, $3 smart tags, $4 after, $5 limit. Each part of the union reads one page by its index.
const memberPageSql = `
  SELECT ${deviceColumns},
    CASE WHEN m.device_id IS NULL THEN 'smartTag' WHEN d.tags && $3::text[] THEN 'both' ELSE 'explicit' END AS membership
  FROM (
    (SELECT device_id AS id FROM device_group_member
      WHERE organization_id = $1 AND group_id = $2 AND ($4::uuid IS NULL OR device_id < $4)
      ORDER BY device_id DESC LIMIT $5)
    UNION
    (SELECT id FROM device
      WHERE organization_id = $1 AND tags && $3::text[] AND ($4::uuid IS NULL OR id < $4)
      ORDER BY id DESC LIMIT $5)
  ) page
  JOIN device d ON d.organization_id = $1 AND d.id = page.id
  LEFT JOIN device_group_member m ON m.organization_id = $1 AND m.group_id = $2 AND m.device_id = page.id
  ORDER BY d.id DESC LIMIT $5`

/** The effective members of a group, newest device first, with the kind of membership (`group:read`). Throws 404. */
export async function listGroupMembers(
  ctx: FleetContext,
  { organizationId, groupId, page }: GroupReference & { page: PageRequest },
): Promise<Page<GroupMember>> {
  await authorizeObject(ctx, organizationId, 'group:read', 'group', groupId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { smartTags } = await findEffectiveGroup(ctx, connection, { organizationIds: [organizationId], groupId })
    const { rows } = await connection.query<DeviceRow & { membership: Membership }>(memberPageSql, [
      organizationId,
      groupId,
      smartTags,
      page.after ?? null,
      page.limit + 1,
    ])
    return pageOf(rows, page.limit, (row) => ({ ...toDevice(row), membership: row.membership }))
  })
}

/**
 * Adds explicit members (`group:write`). Returns how many were added and how many already were members. Throws 404 that
 * names unknown devices, 402, and 409
 * `limit_reached`; then no device is added.
 */
export async function addGroupMembers(
  ctx: FleetContext,
  { organizationId, groupId, deviceIds }: GroupReference & { deviceIds: readonly string[] },
): Promise<{ added: number; alreadyMembers: number }> {
  await authorizeObject(ctx, organizationId, 'group:write', 'group', groupId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await lockGroup(connection, organizationId, groupId)
    await requireDevices(connection, organizationId, deviceIds)
    await requireActiveSubscription(ctx, connection, organizationId)
    const { rowCount } = await connection.query(
      `INSERT INTO device_group_member (organization_id, group_id, device_id)
       SELECT $1, $2, unnest($3::uuid[]) ON CONFLICT DO NOTHING`,
      [organizationId, groupId, deviceIds],
    )
    const added = rowCount ?? 0
    if (added > 0) {
      await recordMemberChange(ctx, connection, organizationId, groupId, 'group.members_added', { added, deviceIds })
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'groupMembers', owner: groupId, added })
    }
    return { added, alreadyMembers: deviceIds.length - added }
  })
}

/** Removes an explicit member from a group (`group:write`). Throws 404 when the device is not a member, and 402. */
export async function removeGroupMember(
  ctx: FleetContext,
  { organizationId, groupId, deviceId }: GroupReference & { deviceId: string },
): Promise<void> {
  const member = [organizationId, isUuid(groupId) ? groupId : null, isUuid(deviceId) ? deviceId : null]
  await authorizeFound(ctx, organizationId, 'group:write', {
    kind: 'member',
    id: deviceId,
    find: () =>
      ctx.pool.query(
        'SELECT FROM device_group_member WHERE organization_id = $1 AND group_id = $2 AND device_id = $3',
        member,
      ),
  })
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    await lockGroup(connection, organizationId, groupId)
    const { rowCount } = await connection.query(
      'DELETE FROM device_group_member WHERE organization_id = $1 AND group_id = $2 AND device_id = $3',
      member,
    )
    if (!rowCount) throw notFound('member', deviceId)
    await requireActiveSubscription(ctx, connection, organizationId)
    await recordMemberChange(ctx, connection, organizationId, groupId, 'group.member_removed', { deviceId })
  })
}

async function recordMemberChange(
  ctx: FleetContext,
  db: Queryable,
  organizationId: string,
  groupId: string,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> {
  await db.query(
    'UPDATE device_group SET revision = revision + 1, updated_at = now() WHERE organization_id = $1 AND id = $2',
    [organizationId, groupId],
  )
  await auditGroup(ctx, db, organizationId, groupId, action, detail)
}
