import { z } from 'zod'
import { notFound } from '#core/errors'
import { instantOut, uuid } from '#core/schemas'
import { authorize } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { type Entitlement, readEntitlement } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export const groupSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    smartTags: z.array(z.string()),
    explicitDeviceCount: z.int(),
    effectiveDeviceCount: z.int().describe('Number of explicit members and of devices with any of the smart tags.'),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'Group' })

type Group = z.infer<typeof groupSchema>

export type GroupReference = { organizationId: string; groupId: string }

export const groupAccess = ({ organizationId, groupId }: GroupReference, scope: Scope) =>
  ({ scope, noun: 'group', organizationId, id: groupId }) as const

/** A group with its revision, which is its entity tag. */
export type GroupRevision = { group: Group; revision: string }

/** The columns of a `Group` named `g`. `$hasSmartTags`: the plan includes smart tags. */
const groupColumns = `g.id, g.name, g.smart_tags AS "smartTags",
    (SELECT count(*)::int FROM device_group_member m
      WHERE m.organization_id = g.organization_id AND m.group_id = g.id) AS "explicitDeviceCount",
    (SELECT count(*)::int FROM device d
      WHERE d.organization_id = g.organization_id AND d.tags && effective.smart_tags)
    + (SELECT count(*)::int FROM device_group_member m JOIN device d ON d.id = m.device_id
        WHERE m.organization_id = g.organization_id AND m.group_id = g.id AND NOT d.tags && effective.smart_tags)
      AS "effectiveDeviceCount",
    g.created_at AS "createdAt", g.updated_at AS "updatedAt"`

const groupSources = `device_group g
  CROSS JOIN LATERAL (SELECT CASE WHEN $hasSmartTags::boolean THEN g.smart_tags ELSE '{}' END AS smart_tags) effective`

/** Reads a group with its counts, for verbs that have authorized the caller. Throws 404. */
export async function readGroup(
  db: Queryable,
  { organizationId, plan }: Entitlement,
  groupId: string,
): Promise<GroupRevision> {
  const [row] = await queryEntities<Group & { revision: string }>(
    db,
    `SELECT ${groupColumns}, g.revision FROM ${groupSources} WHERE g.organization_id = $organizationId AND g.id = $groupId`,
    { organizationId, groupId, hasSmartTags: plan.smartTagGroups },
  )
  if (!row) throw notFound('group', groupId)
  const { revision, ...group } = row
  return { group, revision }
}

/** Throws 404 if the organization has no such group. */
export async function requireGroup(db: Queryable, { organizationId, groupId }: GroupReference): Promise<void> {
  const text = 'SELECT FROM device_group WHERE organization_id = $1 AND id = $2'
  const { rowCount } = await db.query(text, [organizationId, groupId])
  if (!rowCount) throw notFound('group', groupId)
}

type GroupList = {
  organizationId: string
  /** Only groups whose effective members include this device. */
  deviceId?: string | undefined
  page: PageRequest
}

const hasDevice = `EXISTS (SELECT FROM device d WHERE d.organization_id = $organizationId AND d.id = $deviceId
  AND ($hasSmartTags::boolean AND d.tags && g.smart_tags OR EXISTS (SELECT FROM device_group_member m
    WHERE m.organization_id = $organizationId AND m.group_id = g.id AND m.device_id = d.id)))`

/** The organization's groups with their counts, newest first (`group:read`). */
export async function listGroups(
  ctx: FleetContext,
  { organizationId, deviceId, page }: GroupList,
): Promise<Page<Group>> {
  authorize(ctx.principal, organizationId, 'group:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { plan } = await readEntitlement(ctx, connection, organizationId)
    return queryPage(
      connection,
      `SELECT ${groupColumns} FROM ${groupSources}
       WHERE g.organization_id = $organizationId AND ($after::uuid IS NULL OR g.id < $after)
         AND ($deviceId::uuid IS NULL OR ${hasDevice})
       ORDER BY g.id DESC LIMIT $limit`,
      { organizationId, hasSmartTags: plan.smartTagGroups, deviceId },
      page,
    )
  })
}

/** One group (`group:read`). Throws 404. */
export const getGroup = (ctx: FleetContext, reference: GroupReference): Promise<GroupRevision> =>
  withObject(ctx, groupAccess(reference, 'group:read'), async (connection) =>
    readGroup(connection, await readEntitlement(ctx, connection, reference.organizationId), reference.groupId),
  )
