import { z } from 'zod'
import { badRequest, notFound } from '#core/errors'
import { newId } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorize, organizationsWith, requirePlatform, sees } from '#fleet/access/principal'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { findPlan } from '#fleet/organizations/plans'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntities, queryEntity } from '#postgres/entities'
import { type Queryable, transaction } from '#postgres/pool'

export const subscriptionStatuses = ['trialing', 'active', 'past_due', 'suspended', 'cancelled'] as const
export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

export const organizationSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    plan: z.string(),
    subscription: z.object({ status: z.enum(subscriptionStatuses), deviceQuota: z.int() }),
    createdAt: instantOut(),
  })
  .meta({ id: 'Organization' })

type Organization = z.infer<typeof organizationSchema>

/** Without a quota of its own, an organization has that of its plan. */
type StoredOrganization = Omit<Organization, 'subscription'> & {
  subscription: { status: SubscriptionStatus; deviceQuota: number | null }
}

const columns = `id, name, plan, created_at AS "createdAt",
  json_build_object('status', subscription_status, 'deviceQuota', device_quota) AS subscription`

const toOrganization = (ctx: FleetContext, { subscription, ...organization }: StoredOrganization): Organization => {
  const deviceQuota = subscription.deviceQuota ?? findPlan(ctx.plans, organization.plan)?.deviceQuota ?? 0
  return { ...organization, subscription: { ...subscription, deviceQuota } }
}

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
    await auditObject(
      ctx,
      connection,
      'organization.created',
      { organizationId: row.id, id: row.id },
      { name: row.name, plan },
    )
    return toOrganization(ctx, row)
  })
}

/** Inserts an organization and its usage counter. */
export const insertOrganization = (db: Queryable, name: string, plan: string): Promise<StoredOrganization> =>
  queryEntity(
    db,
    `WITH created AS (
       INSERT INTO organization (id, name, plan, created_at, updated_at)
       VALUES ($id, $name, $plan, uuid_extract_timestamp($id), uuid_extract_timestamp($id)) RETURNING *
     ), counter AS (
       INSERT INTO organization_usage (organization_id) SELECT id FROM created
     )
     SELECT ${columns} FROM created`,
    { id: newId(), name, plan },
  )

/** The organizations the caller can read, newest first. A caller who can read none gets an empty list. */
export async function listOrganizations(
  ctx: FleetContext,
  { page }: { page: PageRequest },
): Promise<Page<Organization>> {
  const visible = ctx.principal.platform || ctx.principal.grants.size > 0 ? readable(ctx) : []
  const { items, nextAfter } = await queryPage<StoredOrganization>(
    ctx.pool,
    `SELECT ${columns} FROM organization
     WHERE ($visible::uuid[] IS NULL OR id = ANY ($visible)) AND ($after::uuid IS NULL OR id < $after)
     ORDER BY id DESC LIMIT $limit`,
    { visible: visible === 'all' ? null : visible },
    page,
  )
  return { items: items.map((stored) => toOrganization(ctx, stored)), nextAfter }
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
  return stored(ctx, ctx.pool, `SELECT ${columns} FROM organization WHERE id = $organizationId`, { organizationId })
}

/** Runs a statement that returns an organization. Throws 404 if it returns none. */
async function stored(
  ctx: FleetContext,
  db: Queryable,
  statement: string,
  values: { organizationId: string } & Record<string, unknown>,
): Promise<Organization> {
  const [row] = await queryEntities<StoredOrganization>(db, statement, values)
  if (!row) throw notFound('organization', values.organizationId)
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
    const renamed = await stored(
      ctx,
      connection,
      `UPDATE organization SET name = $name, updated_at = now() WHERE id = $organizationId RETURNING ${columns}`,
      { organizationId, name },
    )
    await auditObject(ctx, connection, 'organization.renamed', { organizationId, id: organizationId }, { name })
    return renamed
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
    const { plan, status, deviceQuota } = subscription
    const changed = await stored(
      ctx,
      connection,
      `UPDATE organization
       SET plan = $plan, subscription_status = $status, device_quota = $deviceQuota, updated_at = now(),
         subscription_changed_at = CASE WHEN subscription_status = $status THEN subscription_changed_at ELSE now() END
       WHERE id = $organizationId RETURNING ${columns}`,
      { organizationId, plan, status, deviceQuota },
    )
    await auditObject(
      ctx,
      connection,
      'organization.subscription_changed',
      { organizationId, id: organizationId },
      subscription,
    )
    return changed
  })
}

/**
 * Throws 404 when the organization does not exist. Queries the database only for platform principals; the grants of all
 * others refer to existing organizations.
 */
export async function requireOrganization(ctx: FleetContext, organizationId: string): Promise<void> {
  if (!ctx.principal.platform) return
  const { rowCount } = await ctx.pool.query('SELECT 1 FROM organization WHERE id = $1', [organizationId])
  if (!rowCount) throw notFound('organization', organizationId)
}
