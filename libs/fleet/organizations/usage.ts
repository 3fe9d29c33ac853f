import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type DeviceStatus, deviceStatuses } from '#fleet/devices/status'
import { readLimitUses } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { readEntitlement } from '#fleet/organizations/subscriptions'

/** The limits of an organization's plan and contract, and how much of them it uses. */
type Usage = {
  organizationId: string
  devices: { used: number; limit: number; byStatus: Record<DeviceStatus, number> }
  requestsPerMinute: number
  alertMails: { used: number; limit: number }
  historyDays: number
  features: { smartTagGroups: boolean; fleetGps: boolean; coverage: boolean }
  limits: Awaited<ReturnType<typeof readLimitUses>>
}

/** The usage of an organization (`org:read`). Throws 404. */
export async function readUsage(ctx: FleetContext, { organizationId }: { organizationId: string }): Promise<Usage> {
  authorize(ctx.principal, organizationId, 'org:read')
  await requireOrganization(ctx, organizationId)
  const { plan, deviceQuota } = await readEntitlement(ctx, ctx.pool, organizationId)
  const counter = await ctx.pool.query<{ device_count: number }>(
    'SELECT device_count FROM organization_usage WHERE organization_id = $1',
    [organizationId],
  )
  const counts = await ctx.pool.query<{ status: DeviceStatus; count: number }>(
    'SELECT status, count(*)::int AS count FROM device WHERE organization_id = $1 GROUP BY status',
    [organizationId],
  )
  const mails = await ctx.pool.query<{ sent: number }>(
    'SELECT sent FROM alert_mail_day WHERE organization_id = $1 AND day = $2',
    [organizationId, new Date(ctx.clock()).toISOString().slice(0, 10)],
  )
  const countOf = new Map(counts.rows.map(({ status, count }) => [status, count]))
  return {
    organizationId,
    devices: {
      used: counter.rows[0]?.device_count ?? 0,
      limit: deviceQuota,
      byStatus: Object.fromEntries(deviceStatuses.map((status) => [status, countOf.get(status) ?? 0])) as Record<
        DeviceStatus,
        number
      >,
    },
    requestsPerMinute: plan.requestsPerMinute,
    alertMails: { used: mails.rows[0]?.sent ?? 0, limit: plan.alertMailsPerDay },
    historyDays: plan.historyDays,
    features: { smartTagGroups: plan.smartTagGroups, fleetGps: plan.fleetGps, coverage: plan.coverage },
    limits: await readLimitUses(ctx.pool, { organizationId, plan }),
  }
}
