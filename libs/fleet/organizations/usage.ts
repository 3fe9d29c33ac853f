import { z } from 'zod'
import { uuid } from '#core/schemas'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type DeviceStatus, deviceStatuses } from '#fleet/devices/status'
import { limitNames } from '#fleet/organizations/limit-table'
import { readLimitUses } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { featuresOf } from '#fleet/organizations/plans'
import { countedDevices, readEntitlement } from '#fleet/organizations/subscriptions'

/** The limits of an organization's plan and contract, and how much of them it uses. */
export const usageSchema = z
  .object({
    organizationId: uuid(),
    devices: z.object({ used: z.int(), limit: z.int(), byStatus: z.record(z.enum(deviceStatuses), z.int()) }),
    requestsPerMinute: z.int(),
    alertMails: z.object({ used: z.int(), limit: z.int() }).describe('Messages about alerts on the present UTC day.'),
    historyDays: z.int(),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
    limits: z
      .partialRecord(z.enum(limitNames), z.object({ limit: z.int(), used: z.int() }))
      .describe('Limits of the organization. Those within one device, group or profile are in `GET /plans`.'),
  })
  .meta({ id: 'Usage' })

type Usage = z.infer<typeof usageSchema>

/** The usage of an organization (`org:read`). Throws 404. */
export async function readUsage(ctx: FleetContext, { organizationId }: { organizationId: string }): Promise<Usage> {
  authorize(ctx.principal, organizationId, 'org:read')
  await requireOrganization(ctx, organizationId)
  const { plan, deviceQuota } = await readEntitlement(ctx, ctx.pool, organizationId)
  const used = await countedDevices(ctx.pool, organizationId)
  const counts = await ctx.pool.query<{ status: DeviceStatus; count: number }>(
    'SELECT status, count(*)::int AS count FROM device WHERE organization_id = $1 GROUP BY status',
    [organizationId],
  )
  const mails = await ctx.pool.query<{ sent: number }>(
    'SELECT sent FROM alert_mail_day WHERE organization_id = $1 AND day = $2',
    [organizationId, new Date(ctx.clock()).toISOString().slice(0, 10)],
  )
  const countOf = new Map(counts.rows.map(({ status, count }) => [status, count]))
  const byStatus = Object.fromEntries(deviceStatuses.map((status) => [status, countOf.get(status) ?? 0]))
  return {
    organizationId,
    devices: { used, limit: deviceQuota, byStatus: byStatus as Record<DeviceStatus, number> },
    requestsPerMinute: plan.requestsPerMinute,
    alertMails: { used: mails.rows[0]?.sent ?? 0, limit: plan.alertMailsPerDay },
    historyDays: plan.historyDays,
    features: featuresOf(plan),
    limits: await readLimitUses(ctx.pool, { organizationId, plan }),
  }
}
