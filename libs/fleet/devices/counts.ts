import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { type DeviceFilter, matchingDevices } from '#fleet/devices/matching'
import { type DeviceStatus, deviceStatuses } from '#fleet/devices/status'
import { requireOrganization } from '#fleet/organizations/organizations'
import { tenantTransaction } from '#fleet/tenant'

type ValueCount = { value: string; devices: number }
type DeviceCounts = {
  total: number
  status: Record<DeviceStatus, number>
  models: ValueCount[]
  firmware: ValueCount[]
  tags: ValueCount[]
}

/** The most frequent values of each list. */
const maxValues = 200

/** Counts the devices of an organization that match a filter (`device:read`). Throws 404, and 403 for a place. */
export async function countDevices(
  ctx: FleetContext,
  { organizationId, filter }: { organizationId: string; filter: DeviceFilter },
): Promise<DeviceCounts> {
  authorize(ctx.principal, organizationId, 'device:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { condition, values } = await matchingDevices(ctx, connection, { organizationId, filter })
    const { rows } = await connection.query<{ list: string; value: string; devices: number }>(
      `WITH matching AS MATERIALIZED (SELECT d.status, d.model, d.firmware, d.tags FROM device d WHERE ${condition})
       SELECT 'status' AS list, status AS value, count(*)::int AS devices FROM matching GROUP BY status
       UNION ALL
       (SELECT 'models', model, count(*)::int FROM matching GROUP BY model ORDER BY 3 DESC, 2 LIMIT ${maxValues})
       UNION ALL
       (SELECT 'firmware', firmware, count(*)::int FROM matching WHERE firmware IS NOT NULL
        GROUP BY firmware ORDER BY 3 DESC, 2 LIMIT ${maxValues})
       UNION ALL
       (SELECT 'tags', tag, count(*)::int FROM matching CROSS JOIN unnest(tags) AS tag
        GROUP BY tag ORDER BY 3 DESC, 2 LIMIT ${maxValues})`,
      values,
    )
    const list = (name: string) =>
      rows.filter((row) => row.list === name).map(({ value, devices }) => ({ value, devices }))
    const byStatus = new Map(list('status').map(({ value, devices }) => [value, devices]))
    return {
      total: [...byStatus.values()].reduce((sum, devices) => sum + devices, 0),
      status: Object.fromEntries(deviceStatuses.map((status) => [status, byStatus.get(status) ?? 0])) as Record<
        DeviceStatus,
        number
      >,
      models: list('models'),
      firmware: list('firmware'),
      tags: list('tags'),
    }
  })
}
