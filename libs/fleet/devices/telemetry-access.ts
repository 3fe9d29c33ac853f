import { insufficientScope, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { holds, visibleOrganizations } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { intervalsSql } from '#fleet/devices/ownership'
import { planNamed } from '#fleet/organizations/plans'
import { epochMs } from '#postgres/entities'

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

type OwnershipRow = Pick<OwnedInterval, 'organizationId' | 'fromMs' | 'toMs'> & {
  plan: string
  lastSeenMs: number | null
}

const ownershipSql = `
  SELECT owned.organization_id AS "organizationId", ${epochMs('owned.owned_from')} AS "fromMs", ${epochMs('owned.owned_to')} AS "toMs",
    organization.plan, ${epochMs('device.last_seen_at')} AS "lastSeenMs"
  FROM (${intervalsSql('device_id = $1')}) owned
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
  const readable = rows.filter((row) => holds(principal, row.organizationId, 'telemetry:read'))
  if (readable.length === 0) throw insufficientScope('telemetry:read')
  return {
    deviceId: deviceId.toLowerCase(),
    lastSeenMs: readable.find(({ lastSeenMs }) => lastSeenMs !== null)?.lastSeenMs ?? null,
    intervals: readable.map(({ organizationId, fromMs, toMs, plan }) => ({
      organizationId,
      fromMs,
      toMs,
      historyDays: planNamed(ctx.plans, plan).historyDays,
      sensitive: holds(principal, organizationId, 'device:sensitive'),
    })),
  }
}
