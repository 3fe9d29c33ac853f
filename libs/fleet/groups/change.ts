import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type GroupReference, type GroupRevision, lockGroup, readGroup } from '#fleet/groups/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { featureNotInPlan, requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { isUniqueViolation } from '#postgres/errors'
import type { Queryable } from '#postgres/pool'

type NewGroup = { organizationId: string; name: string; smartTags?: string[] | undefined }

/** `precondition` receives the present group and may throw 412. */
type GroupDeletion = GroupReference & { precondition: (current: GroupRevision) => void }

type GroupUpdate = GroupDeletion & { change: { name?: string | undefined; smartTags?: string[] | undefined } }

/**
 * Creates a group (`group:write`). Throws 402, 403 `plan_feature` for smart tags the plan does not include, and 409
 * `group_name_taken` or `limit_reached`.
 */
export async function createGroup(ctx: FleetContext, { organizationId, ...input }: NewGroup): Promise<GroupRevision> {
  authorize(ctx.principal, organizationId, 'group:write')
  const id = newId()
  const smartTags = input.smartTags ?? []
  return rejectTakenName(() =>
    tenantTransaction(ctx, [organizationId], async (connection) => {
      const entitlement = await requireActiveSubscription(ctx, connection, organizationId)
      if (smartTags.length > 0 && !entitlement.plan.smartTagGroups) throw featureNotInPlan('smartTagGroups')
      await connection.query(
        `INSERT INTO device_group (id, organization_id, name, smart_tags, created_at, updated_at)
         VALUES ($1, $2, $3, $4, uuid_extract_timestamp($1), uuid_extract_timestamp($1))`,
        [id, organizationId, input.name, smartTags],
      )
      await auditGroup(ctx, connection, organizationId, id, 'group.created', { name: input.name, smartTags })
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'groups' })
      return readGroup(connection, entitlement, id)
    }),
  )
}

/**
 * Changes name or smart tags (`group:write`). Throws 404, 402, 403 `plan_feature`, and 409 `group_name_taken`.
 */
export async function updateGroup(
  ctx: FleetContext,
  { organizationId, groupId, change, precondition }: GroupUpdate,
): Promise<GroupRevision> {
  await authorizeObject(ctx, organizationId, 'group:write', 'group', groupId)
  return rejectTakenName(() =>
    tenantTransaction(ctx, [organizationId], async (connection) => {
      await lockGroup(connection, organizationId, groupId)
      const entitlement = await requireActiveSubscription(ctx, connection, organizationId)
      if (change.smartTags?.length && !entitlement.plan.smartTagGroups) throw featureNotInPlan('smartTagGroups')
      precondition(await readGroup(connection, entitlement, groupId))
      await connection.query(
        `UPDATE device_group SET name = coalesce($3, name), smart_tags = coalesce($4, smart_tags),
           revision = revision + 1, updated_at = now()
         WHERE organization_id = $1 AND id = $2`,
        [organizationId, groupId, change.name ?? null, change.smartTags ?? null],
      )
      await auditGroup(ctx, connection, organizationId, groupId, 'group.updated', change)
      return readGroup(connection, entitlement, groupId)
    }),
  )
}

/** Deletes a group, but not its devices (`group:write`). Throws 404 and 402. */
export async function deleteGroup(
  ctx: FleetContext,
  { organizationId, groupId, precondition }: GroupDeletion,
): Promise<void> {
  await authorizeObject(ctx, organizationId, 'group:write', 'group', groupId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    await lockGroup(connection, organizationId, groupId)
    const entitlement = await requireActiveSubscription(ctx, connection, organizationId)
    const current = await readGroup(connection, entitlement, groupId)
    precondition(current)
    await connection.query('DELETE FROM device_group WHERE organization_id = $1 AND id = $2', [organizationId, groupId])
    await auditGroup(ctx, connection, organizationId, groupId, 'group.deleted', { name: current.group.name })
  })
}

/** Writes the audit row of a change to a group. */
export const auditGroup = (
  ctx: FleetContext,
  db: Queryable,
  organizationId: string,
  groupId: string,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> => auditCaller(ctx, db, { organizationId, action, subjectType: 'group', subjectId: groupId, detail })

async function rejectTakenName<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isUniqueViolation(error, 'device_group_organization_id_name_key')) throw error
    throw conflict('group_name_taken', 'Another group of the organization already has this name.')
  }
}
