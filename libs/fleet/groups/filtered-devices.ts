import type { Queryable } from '#postgres/pool'
import type { EffectiveGroup } from './effective-members.ts'

const taggedDevicesSql = 'SELECT d.id FROM device d WHERE d.organization_id = $1 AND d.tags @> $2'
const taggedMembersSql = `
  ${taggedDevicesSql} AND d.tags && $3::text[]
  UNION ALL
  SELECT d.id FROM device_group_member explicit JOIN device d ON d.id = explicit.device_id
   WHERE explicit.organization_id = $1 AND explicit.group_id = $4
     AND d.organization_id = $1 AND d.tags @> $2 AND NOT d.tags && $3::text[]`

/** Ids of the organization's devices that have all these tags and are effective members. Undefined without a filter. */
export async function deviceIdsWith(
  db: Queryable,
  organizationId: string,
  { tags, group }: { tags?: readonly string[] | undefined; group?: EffectiveGroup | undefined },
): Promise<string[] | undefined> {
  if (!tags && !group) return undefined
  if (group && group.organizationId !== organizationId) return []
  const parameters = [organizationId, tags ?? []]
  const { rows } = await (group
    ? db.query<{ id: string }>(taggedMembersSql, [...parameters, group.smartTags, group.id])
    : db.query<{ id: string }>(taggedDevicesSql, parameters))
  return rows.map(({ id }) => id)
}
