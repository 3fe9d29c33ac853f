import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import type { FleetContext } from '#fleet/context'
import { planNamed } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'

/**
 * SQL condition: device `d` of `$organizationId` is an effective member of `$groupId`, which has `$smartTags`. Scans each
 * device once instead of merging two sorted lists: for large groups a fifth of the time, for small ones a few milliseconds more.
 */
export const isEffectiveMemberSql = `(d.tags && $smartTags::text[] OR d.id IN (
  SELECT explicit.device_id FROM device_group_member explicit
  WHERE explicit.organization_id = $organizationId AND explicit.group_id = $groupId))`

const uuidLength = 36

type GroupInOrganizations = { organizationIds: readonly string[]; groupId: string }

/** A group whose effective members are its explicit members, and the devices of its organization with any of its smart tags. */
export type EffectiveGroup = {
  id: string
  name: string
  organizationId: string
  /** Those of the group, or none when the plan does not include smart tags. */
  smartTags: string[]
}

/** Finds a group in these organizations, with its effective smart tags. The verb must authorize the caller. Throws 404. */
export async function findEffectiveGroup(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  { organizationIds, groupId }: GroupInOrganizations,
): Promise<EffectiveGroup> {
  if (!isUuid(groupId)) throw notFound('group', groupId)
  const { rows } = await db.query<{
    id: string
    name: string
    organization_id: string
    smart_tags: string[]
    plan: string
  }>(
    `SELECT g.id, g.name, g.organization_id, g.smart_tags, o.plan
     FROM device_group g JOIN organization o ON o.id = g.organization_id
     WHERE g.id = $1 AND g.organization_id = ANY ($2::uuid[])`,
    [groupId, organizationIds],
  )
  const row = rows[0]
  if (!row) throw notFound('group', groupId)
  const smartTags = planNamed(ctx.plans, row.plan).smartTagGroups ? row.smart_tags : []
  return { id: row.id, name: row.name, organizationId: row.organization_id, smartTags }
}

/** Returns the ids of a group's explicit members. The verb must authorize the caller. */
export async function explicitMemberIds(db: Queryable, { id, organizationId }: EffectiveGroup): Promise<Set<string>> {
  // One text instead of a row for each member, which takes several times as long for large groups.
  const { rows } = await db.query<{ ids: string | null }>(
    `SELECT string_agg(device_id::text, '') AS ids FROM device_group_member
      WHERE organization_id = $1 AND group_id = $2`,
    [organizationId, id],
  )
  const text = rows[0]?.ids ?? ''
  const members = new Set<string>()
  for (let at = 0; at < text.length; at += uuidLength) members.add(text.slice(at, at + uuidLength))
  return members
}
