import { z } from 'zod'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeFound, lockObject } from '#fleet/access/authorize-object'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { columnsWithoutNotes, deviceSchema } from '#fleet/devices/device'
import { requireDevices } from '#fleet/devices/require-devices'
import { findEffectiveGroup } from '#fleet/groups/effective-members'
import { type GroupReference, groupAccess } from '#fleet/groups/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { withObject } from '#fleet/verbs'
import type { Queryable } from '#postgres/pool'

export const groupMemberSchema = deviceSchema
  .omit({ notes: true })
  .extend({ membership: z.enum(['explicit', 'smartTag', 'both']) })
  .meta({ id: 'GroupMember' })

type GroupMember = z.infer<typeof groupMemberSchema>

// Each part of the union reads one page by its index.
const memberPageSql = `
  SELECT ${columnsWithoutNotes},
    CASE WHEN m.device_id IS NULL THEN 'smartTag' WHEN d.tags && $smartTags::text[] THEN 'both' ELSE 'explicit' END AS membership
  FROM (
    (SELECT device_id AS id FROM device_group_member
      WHERE organization_id = $organizationId AND group_id = $groupId AND ($after::uuid IS NULL OR device_id < $after)
      ORDER BY device_id DESC LIMIT $limit)
    UNION
    (SELECT id FROM device
      WHERE organization_id = $organizationId AND tags && $smartTags::text[] AND ($after::uuid IS NULL OR id < $after)
      ORDER BY id DESC LIMIT $limit)
  ) page
  JOIN device d ON d.organization_id = $organizationId AND d.id = page.id
  LEFT JOIN device_group_member m
    ON m.organization_id = $organizationId AND m.group_id = $groupId AND m.device_id = page.id
  ORDER BY d.id DESC LIMIT $limit`

/** The effective members of a group, newest device first, with the kind of membership (`group:read`). Throws 404. */
export const listGroupMembers = (
  ctx: FleetContext,
  { page, ...reference }: GroupReference & { page: PageRequest },
): Promise<Page<GroupMember>> =>
  withObject(ctx, groupAccess(reference, 'group:read'), async (connection) => {
    const { organizationId, groupId } = reference
    const { smartTags } = await findEffectiveGroup(ctx, connection, { organizationIds: [organizationId], groupId })
    return queryPage(connection, memberPageSql, { ...reference, smartTags }, page)
  })

/**
 * Adds explicit members (`group:write`). Returns how many were added and how many already were members. Throws 404 that
 * names unknown devices, 402, and 409 `limit_reached`; then no device is added.
 */
export async function addGroupMembers(
  ctx: FleetContext,
  { deviceIds, ...reference }: GroupReference & { deviceIds: readonly string[] },
): Promise<{ added: number; alreadyMembers: number }> {
  const { organizationId, groupId } = reference
  const group = groupAccess(reference, 'group:write')
  return withObject(ctx, group, async (connection) => {
    await lockObject(connection, group)
    await requireDevices(connection, organizationId, deviceIds)
    await requireActiveSubscription(ctx, connection, organizationId)
    const { rowCount } = await connection.query(
      `INSERT INTO device_group_member (organization_id, group_id, device_id)
       SELECT $1, $2, unnest($3::uuid[]) ON CONFLICT DO NOTHING`,
      [organizationId, groupId, deviceIds],
    )
    const added = rowCount ?? 0
    if (added > 0) {
      await recordMemberChange(ctx, connection, reference, 'group.members_added', { added, deviceIds })
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'groupMembers', owner: groupId, added })
    }
    return { added, alreadyMembers: deviceIds.length - added }
  })
}

/** Removes an explicit member from a group (`group:write`). Throws 404 when the device is not a member, and 402. */
export async function removeGroupMember(
  ctx: FleetContext,
  { deviceId, ...reference }: GroupReference & { deviceId: string },
): Promise<void> {
  const { organizationId, groupId } = reference
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
    await lockObject(connection, { noun: 'group', organizationId, id: groupId })
    const { rowCount } = await connection.query(
      'DELETE FROM device_group_member WHERE organization_id = $1 AND group_id = $2 AND device_id = $3',
      member,
    )
    if (!rowCount) throw notFound('member', deviceId)
    await requireActiveSubscription(ctx, connection, organizationId)
    await recordMemberChange(ctx, connection, reference, 'group.member_removed', { deviceId })
  })
}

async function recordMemberChange(
  ctx: FleetContext,
  db: Queryable,
  { organizationId, groupId: id }: GroupReference,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> {
  await db.query(
    'UPDATE device_group SET revision = revision + 1, updated_at = now() WHERE organization_id = $1 AND id = $2',
    [organizationId, id],
  )
  await auditObject(ctx, db, action, { organizationId, id }, detail)
}
