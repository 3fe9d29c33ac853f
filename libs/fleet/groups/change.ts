import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type GroupReference, type GroupRevision, groupAccess, readGroup } from '#fleet/groups/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { type Entitlement, featureNotInPlan } from '#fleet/organizations/subscriptions'
import { changeObject, createObject } from '#fleet/verbs'
import { isUniqueViolation } from '#postgres/errors'

type NewGroup = { organizationId: string; name: string; smartTags?: string[] | undefined }

/** `precondition` receives the present group and may throw 412. */
type GroupDeletion = GroupReference & { precondition: (current: GroupRevision) => void }

type GroupUpdate = GroupDeletion & { change: { name?: string | undefined; smartTags?: string[] | undefined } }

/**
 * Creates a group (`group:write`). Throws 402, 403 `plan_feature` for smart tags the plan does not include, and 409
 * `group_name_taken` or `limit_reached`.
 */
export const createGroup = (
  ctx: FleetContext,
  { organizationId, name, smartTags = [] }: NewGroup,
): Promise<GroupRevision> =>
  createObject(ctx, { scope: 'group:write', organizationId }, async (connection, entitlement) => {
    requireSmartTags(entitlement, smartTags)
    const groupId = newId()
    await connection
      .query(
        `INSERT INTO device_group (id, organization_id, name, smart_tags, created_at, updated_at)
         VALUES ($1, $2, $3, $4, uuid_extract_timestamp($1), uuid_extract_timestamp($1))`,
        [groupId, organizationId, name, smartTags],
      )
      .catch(rejectTakenName)
    await auditObject(ctx, connection, 'group.created', { organizationId, id: groupId }, { name, smartTags })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'groups' })
    return readGroup(connection, entitlement, groupId)
  })

/**
 * Changes name or smart tags (`group:write`). Throws 404, 402, 403 `plan_feature`, and 409 `group_name_taken`.
 */
export const updateGroup = (
  ctx: FleetContext,
  { change, precondition, ...reference }: GroupUpdate,
): Promise<GroupRevision> =>
  changeObject(ctx, groupAccess(reference, 'group:write'), async (connection, entitlement) => {
    const { organizationId, groupId } = reference
    requireSmartTags(entitlement, change.smartTags)
    precondition(await readGroup(connection, entitlement, groupId))
    await connection
      .query(
        `UPDATE device_group SET name = coalesce($3, name), smart_tags = coalesce($4, smart_tags),
           revision = revision + 1, updated_at = now()
         WHERE organization_id = $1 AND id = $2`,
        [organizationId, groupId, change.name ?? null, change.smartTags ?? null],
      )
      .catch(rejectTakenName)
    await auditObject(ctx, connection, 'group.updated', { organizationId, id: groupId }, change)
    return readGroup(connection, entitlement, groupId)
  })

/** Deletes a group, but not its devices (`group:write`). Throws 404 and 402. */
export const deleteGroup = (ctx: FleetContext, { precondition, ...reference }: GroupDeletion): Promise<void> =>
  changeObject(ctx, groupAccess(reference, 'group:write'), async (connection, entitlement) => {
    const { organizationId, groupId } = reference
    const current = await readGroup(connection, entitlement, groupId)
    precondition(current)
    await connection.query('DELETE FROM device_group WHERE organization_id = $1 AND id = $2', [organizationId, groupId])
    await auditObject(ctx, connection, 'group.deleted', { organizationId, id: groupId }, { name: current.group.name })
  })

function requireSmartTags({ plan }: Entitlement, smartTags: readonly string[] = []): void {
  if (smartTags.length > 0 && !plan.smartTagGroups) throw featureNotInPlan('smartTagGroups')
}

function rejectTakenName(error: unknown): never {
  if (!isUniqueViolation(error, 'device_group_organization_id_name_key')) throw error
  throw conflict('group_name_taken', 'Another group of the organization already has this name.')
}
