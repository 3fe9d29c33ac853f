import { badRequest, notFound } from '#core/errors'
import { newId } from '#core/ids'
import { authorize, organizationsWith, requirePlatform, sees } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { findPlan } from '#fleet/organizations/plans'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'
import { transaction } from '#postgres/pool'

export const subscriptionStatuses = ['trialing', 'active', 'past_due', 'suspended', 'cancelled'] as const
export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

type Organization = {
  id: string
  name: string
  plan: string
  subscription: { status: SubscriptionStatus; deviceQuota: number }
  createdAt: string
}

type OrganizationRow = {
  id: string
  name: string
  plan: string
  subscription_status: SubscriptionStatus
  device_quota: number | null
  created_at: Date
}

const columns = 'id, name, plan, subscription_status, device_quota, created_at'

const toOrganization = (ctx: FleetContext, row: OrganizationRow): Organization => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  subscription: {
    status: row.subscription_status,
    deviceQuota: row.device_quota ?? findPlan(ctx.plans, row.plan)?.deviceQuota ?? 0,
  },
  createdAt: row.created_at.toISOString(),
})

/** Throws 400 when the plan does not exist. */
function requirePlan(ctx: FleetContext, plan: string): void {
  if (findPlan(ctx.plans, plan)) return
  const detail = `Unknown plan. Allowed: ${Object.keys(ctx.plans).join(', ')}.`
  throw badRequest(`/plan: ${detail}`, [{ pointer: '/plan', code: 'unknown_plan', detail }])
}

/** Creates an organization. The default plan is `free`. Platform only. */
export async function createOrganization(
  ctx: FleetContext,
  input: { name: string; plan?: string | undefined },
): Promise<Organization> {
  requirePlatform(ctx.principal)
  const plan = input.plan ?? 'free'
  requirePlan(ctx, plan)
  return transaction(ctx.pool, async (connection) => {
    const row = await insertOrganization(connection, input.name, plan)
    await auditOrganization(ctx, connection, row.id, 'organization.created', { name: row.name, plan })
    return toOrganization(ctx, row)
  })
}

/** Inserts an organization and its usage counter. */
export async function insertOrganization(db: Queryable, name: string, plan: string): Promise<OrganizationRow> {
  const { rows } = await db.query<OrganizationRow>(
    `WITH created AS (
       INSERT INTO organization (id, name, plan, created_at, updated_at)
       VALUES ($1, $2, $3, uuid_extract_timestamp($1), uuid_extract_timestamp($1)) RETURNING ${columns}
     ), counter AS (
       INSERT INTO organization_usage (organization_id) SELECT id FROM created
     )
     SELECT * FROM created`,
    [newId(), name, plan],
  )
  const row = rows[0]
  if (!row) throw new Error('The organization was not inserted.')
  return row
}

/** The organizations the caller can read, newest first. A caller who can read none gets an empty list. */
export async function listOrganizations(
  ctx: FleetContext,
  { page }: { page: PageRequest },
): Promise<Page<Organization>> {
  const visible = ctx.principal.platform || ctx.principal.grants.size > 0 ? readable(ctx) : []
  const { rows } = await ctx.pool.query<OrganizationRow>(
    `SELECT ${columns} FROM organization
      WHERE ($1::uuid[] IS NULL OR id = ANY($1)) AND ($2::uuid IS NULL OR id < $2)
      ORDER BY id DESC LIMIT $3`,
    [visible === 'all' ? null : visible, page.after ?? null, page.limit + 1],
  )
  return pageOf(rows, page.limit, (row) => toOrganization(ctx, row))
}

const readable = (ctx: FleetContext): string[] | 'all' => {
  const held = [...ctx.principal.grants.values()].some((scopes) => scopes.has('org:read'))
  return ctx.principal.platform || held ? organizationsWith(ctx.principal, 'org:read') : []
}

/** One organization (`org:read`). Throws 404. */
export async function getOrganization(
  ctx: FleetContext,
  { organizationId }: { organizationId: string },
): Promise<Organization> {
  authorize(ctx.principal, organizationId, 'org:read')
  await requireOrganization(ctx, organizationId)
  const { rows } = await ctx.pool.query<OrganizationRow>(`SELECT ${columns} FROM organization WHERE id = $1`, [
    organizationId,
  ])
  const row = rows[0]
  if (!row) throw notFound('organization', organizationId)
  return toOrganization(ctx, row)
}

/** Renames an organization (`org:write`). */
export async function renameOrganization(
  ctx: FleetContext,
  { organizationId, name }: { organizationId: string; name: string },
): Promise<Organization> {
  authorize(ctx.principal, organizationId, 'org:write')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<OrganizationRow>(
      `UPDATE organization SET name = $2, updated_at = now() WHERE id = $1 RETURNING ${columns}`,
      [organizationId, name],
    )
    const row = rows[0]
    if (!row) throw notFound('organization', organizationId)
    await auditOrganization(ctx, connection, organizationId, 'organization.renamed', { name })
    return toOrganization(ctx, row)
  })
}

type NewSubscription = {
  organizationId: string
  plan: string
  status: SubscriptionStatus
  deviceQuota?: number | undefined
}

/**
 * Sets plan, status and contract quota, for a billing system. Platform only; other members of the organization get 403.
 * Without `deviceQuota`, the quota of the plan applies.
 */
export async function setSubscription(
  ctx: FleetContext,
  { organizationId, ...subscription }: NewSubscription,
): Promise<Organization> {
  requirePlan(ctx, subscription.plan)
  if (!sees(ctx.principal, organizationId)) throw notFound('organization', organizationId)
  requirePlatform(ctx.principal)
  await requireOrganization(ctx, organizationId)
  return transaction(ctx.pool, async (connection) => {
    const { rows } = await connection.query<OrganizationRow>(
      `UPDATE organization
          SET plan = $2, subscription_status = $3, device_quota = $4, updated_at = now(),
              subscription_changed_at = CASE WHEN subscription_status = $3 THEN subscription_changed_at ELSE now() END
        WHERE id = $1 RETURNING ${columns}`,
      [organizationId, subscription.plan, subscription.status, subscription.deviceQuota ?? null],
    )
    const row = rows[0]
    if (!row) throw notFound('organization', organizationId)
    await auditOrganization(ctx, connection, organizationId, 'organization.subscription_changed', subscription)
    return toOrganization(ctx, row)
  })
}

const auditOrganization = (
  ctx: FleetContext,
  connection: Queryable,
  organizationId: string,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> =>
  auditCaller(ctx, connection, {
    organizationId,
    action,
    subjectType: 'organization',
    subjectId: organizationId,
    detail,
  })

/**
 * Throws 404 when the organization does not exist. Queries the database only for platform principals; the grants of all
 * others refer to existing organizations.
 */
export async function requireOrganization(ctx: FleetContext, organizationId: string): Promise<void> {
  if (!ctx.principal.platform) return
  const { rowCount } = await ctx.pool.query('SELECT 1 FROM organization WHERE id = $1', [organizationId])
  if (!rowCount) throw notFound('organization', organizationId)
}
