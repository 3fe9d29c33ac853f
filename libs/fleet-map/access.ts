import { ServiceError } from '#core/errors'
import { authorize, organizationsWith } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type EffectiveGroup, findEffectiveGroup } from '#fleet/groups/effective-members'
import { type Plan, planNamed } from '#fleet/organizations/plans'
import { featureNotInPlan, type PlanFeature } from '#fleet/organizations/subscriptions'
import type { BoundingBox } from '#telemetry/geo/geo'

/** Which devices a query is about; without `orgId`, devices of all organizations that the caller can read. */
export type DeviceQuery = {
  orgId?: string | undefined
  groupId?: string | undefined
  /** The devices must have all of these tags. */
  tag?: string[] | undefined
  bbox?: BoundingBox | undefined
}

/** An organization whose fleet map the caller can read, with the limits of its plan. */
export type MappedOrganization = { organizationId: string; historyDays: number; coverage: boolean }

/**
 * The organizations of a request: the requested one, or all in which the caller holds `fleet:read`. Leaves out
 * organizations whose plan lacks a needed feature. Throws 404, 403, and 403 `plan_feature` if none is left.
 */
export async function mappedOrganizations(
  ctx: Pick<FleetContext, 'pool' | 'principal' | 'plans'>,
  organizationId: string | undefined,
  needed: readonly Exclude<PlanFeature, 'smartTagGroups'>[],
): Promise<MappedOrganization[]> {
  if (organizationId !== undefined) authorize(ctx.principal, organizationId, 'fleet:read')
  const readable = organizationId === undefined ? organizationsWith(ctx.principal, 'fleet:read') : [organizationId]
  const { rows } = await ctx.pool.query<{ id: string; plan: string }>(
    'SELECT id, plan FROM organization WHERE $1::uuid[] IS NULL OR id = ANY ($1::uuid[]) ORDER BY id',
    [readable === 'all' ? null : readable],
  )
  if (organizationId !== undefined && rows.length === 0) {
    throw new ServiceError(404, 'not_found', `No such organization: ${organizationId}.`)
  }
  const planned = rows.map((row) => ({ organizationId: row.id, plan: planNamed(ctx.plans, row.plan) }))
  const missing = needed.find((feature) => !planned.some(({ plan }) => plan[feature]))
  if (missing && planned.length > 0) throw featureNotInPlan(missing)
  const has = (plan: Plan) => needed.every((feature) => plan[feature])
  return planned
    .filter(({ plan }) => has(plan))
    .map(({ organizationId: id, plan }) => ({
      organizationId: id,
      historyDays: plan.historyDays,
      coverage: plan.coverage,
    }))
}

/** The group of a query; undefined without a group. Throws 404 if the caller cannot see the group. */
export async function queriedGroup(
  ctx: Pick<FleetContext, 'pool' | 'plans'>,
  organizations: readonly MappedOrganization[],
  groupId: string | undefined,
): Promise<EffectiveGroup | undefined> {
  if (groupId === undefined) return undefined
  const organizationIds = organizations.map(({ organizationId }) => organizationId)
  return findEffectiveGroup(ctx, ctx.pool, { organizationIds, groupId })
}
