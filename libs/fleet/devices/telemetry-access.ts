import { insufficientScope, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { holds, visibleOrganizations } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { planNamed } from '#fleet/organizations/plans'

/** A part of a device's history that the caller may read: the time in [fromMs, toMs) in which an organization owned it. */
type OwnedInterval = {
  organizationId: string
  /** Null: no limit. The first owner of a device also owns what it recorded before it was registered. */
  fromMs: number | null
  /** Null: still owned. */
  toMs: number | null
  /** How many days of history the organization's plan includes. */
  historyDays: number
  /** The caller may read IMSI, ICCID and WAN address of this interval. */
  sensitive: boolean
}

export type ReadableDevice = {
  deviceId: string
  /** Newest first, never empty, never overlapping. */
  intervals: OwnedInterval[]
  /** When the device last reported to its present owner; null when it never did or the caller may not read that owner. */
  lastSeenMs: number | null
}

type OwnershipRow = {
  organization_id: string
  owned_from: Date | null
  owned_to: Date | null
  plan: string
  last_seen_at: Date | null
}

// The window function runs before the filter on the caller's organizations, so that only the first owner has no start.
const ownershipSql = `
  SELECT owned.organization_id, owned.owned_from, owned.owned_to, organization.plan, device.last_seen_at
  FROM (
    SELECT device_id, organization_id, owned_to, owned_from AS started,
           CASE WHEN owned_from > min(owned_from) OVER () THEN owned_from END AS owned_from
    FROM device_ownership WHERE device_id = $1
  ) owned
  JOIN organization ON organization.id = owned.organization_id
  LEFT JOIN device ON device.id = owned.device_id AND device.organization_id = owned.organization_id
                  AND owned.owned_to IS NULL
  WHERE $2::uuid[] IS NULL OR owned.organization_id = ANY ($2::uuid[])
  ORDER BY owned.started DESC`

/**
 * Returns the parts of a device's telemetry that the caller may read. Throws 404 for a device that does not exist, was
 * deleted or never belonged to an organization of the caller, and 403 when the caller lacks `telemetry:read` in all of its
 * owners.
 */
export async function readableTelemetry(
  ctx: Pick<FleetContext, 'pool' | 'principal' | 'plans'>,
  { deviceId }: { deviceId: string },
): Promise<ReadableDevice> {
  const { principal } = ctx
  if (!isUuid(deviceId)) throw notFound('device', deviceId)
  // A prepared statement, because planning takes longer than reading the few rows.
  const values = [deviceId, visibleOrganizations(principal)]
  const ownership = { name: 'device-ownership', text: ownershipSql, values }
  const { rows } = await ctx.pool.query<OwnershipRow>(ownership)
  if (rows.length === 0) throw notFound('device', deviceId)
  const readable = rows.filter((row) => holds(principal, row.organization_id, 'telemetry:read'))
  if (readable.length === 0) throw insufficientScope('telemetry:read')
  return {
    deviceId: deviceId.toLowerCase(),
    lastSeenMs: readable.find((row) => row.last_seen_at)?.last_seen_at?.getTime() ?? null,
    intervals: readable.map((row) => ({
      organizationId: row.organization_id,
      fromMs: row.owned_from?.getTime() ?? null,
      toMs: row.owned_to?.getTime() ?? null,
      historyDays: planNamed(ctx.plans, row.plan).historyDays,
      sensitive: holds(principal, row.organization_id, 'device:sensitive'),
    })),
  }
}
