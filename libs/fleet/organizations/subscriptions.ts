import { notFound, ServiceError } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import { publishEvents } from '#fleet/events/publish'
import type { SubscriptionStatus } from '#fleet/organizations/organizations'
import { type Plan, planNamed } from '#fleet/organizations/plans'
import type { Connection, Queryable } from '#postgres/pool'

/** The present limits of an organization, from its plan and subscription. */
export type Entitlement = { organizationId: string; plan: Plan; status: SubscriptionStatus; deviceQuota: number }

/** Reads the plan and subscription of an organization in the caller's transaction. Throws 404. */
export async function readEntitlement(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  organizationId: string,
): Promise<Entitlement> {
  const { rows } = await db.query<{ plan: string; status: SubscriptionStatus; quota: number | null }>(
    'SELECT plan, subscription_status AS status, device_quota AS quota FROM organization WHERE id = $1',
    [organizationId],
  )
  if (!rows[0]) throw notFound('organization', organizationId)
  const { status, quota, ...stored } = rows[0]
  const plan = planNamed(ctx.plans, stored.plan)
  return { organizationId, plan, status, deviceQuota: quota ?? plan.deviceQuota }
}

/**
 * Every verb that writes devices, groups, profiles or jobs calls this in its transaction. Throws 402
 * `subscription_inactive` when the subscription is suspended or cancelled, also for platform principals.
 */
export async function requireActiveSubscription(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  organizationId: string,
): Promise<Entitlement> {
  const entitlement = await readEntitlement(ctx, db, organizationId)
  if (entitlement.status === 'suspended' || entitlement.status === 'cancelled') {
    throw new ServiceError(402, 'subscription_inactive', `The organization's subscription is ${entitlement.status}.`, {
      members: { subscriptionStatus: entitlement.status },
    })
  }
  return entitlement
}

/** A part of the product that not every plan includes. */
export type PlanFeature = 'smartTagGroups' | 'fleetGps' | 'coverage'

const featureNames: Record<PlanFeature, string> = {
  smartTagGroups: 'smart-tag groups',
  fleetGps: 'fleet GPS',
  coverage: 'coverage',
}

/** 403 `plan_feature` for a feature that the plan does not include. */
export const featureNotInPlan = (feature: PlanFeature) =>
  new ServiceError(403, 'plan_feature', `The organization's plan does not include ${featureNames[feature]}.`, {
    members: { feature },
  })

/** How many devices the organization has, as far as transactions have committed. Locks nothing. */
export async function countedDevices(db: Queryable, organizationId: string): Promise<number> {
  const { rows } = await db.query<{ device_count: number }>(
    'SELECT device_count FROM organization_usage WHERE organization_id = $1',
    [organizationId],
  )
  return rows[0]?.device_count ?? 0
}

/**
 * Throws 403 `device_quota_exceeded` with `limit` and `used` when there is no quota for one more device. Locks nothing, so
 * the transaction that creates the device must still reserve the quota.
 */
export async function requireQuota(db: Queryable, { organizationId, deviceQuota }: Entitlement): Promise<void> {
  const used = await countedDevices(db, organizationId)
  if (used >= deviceQuota) throw quotaExceeded(deviceQuota, used)
}

/**
 * Reserves quota for `count` more devices in the transaction that creates them. The lock on the counter's row serializes
 * concurrent transactions, so the quota cannot be exceeded. Reserve last: all enrollments of the organization wait for this
 * lock until the transaction ends. Throws 403 `device_quota_exceeded` with `limit` and `used`.
 */
export async function reserveQuota(connection: Connection, entitlement: Entitlement, count: number): Promise<void> {
  const { organizationId, deviceQuota } = entitlement
  const taken = await connection.query<{ device_count: number }>(
    `UPDATE organization_usage SET device_count = device_count + $2
      WHERE organization_id = $1 AND device_count + $2 <= $3 RETURNING device_count`,
    [organizationId, count, deviceQuota],
  )
  const used = taken.rows[0]?.device_count
  if (used === deviceQuota) {
    await publishEvents(connection, [{ organizationId, type: 'quota.reached', payload: { limit: deviceQuota, used } }])
  }
  if (used !== undefined) return
  throw quotaExceeded(deviceQuota, await countedDevices(connection, organizationId))
}

const quotaExceeded = (deviceQuota: number, used: number) =>
  new ServiceError(403, 'device_quota_exceeded', quotaExceededDetail(deviceQuota), {
    members: { limit: deviceQuota, used },
  })

/** The text of `device_quota_exceeded`. */
export const quotaExceededDetail = (deviceQuota: number) =>
  `The organization's quota of ${deviceQuota} devices is exceeded.`

/** Releases quota when devices are deleted or leave the organization. */
export async function releaseQuota(connection: Connection, organizationId: string, count: number): Promise<void> {
  await connection.query('UPDATE organization_usage SET device_count = device_count - $2 WHERE organization_id = $1', [
    organizationId,
    count,
  ])
}
