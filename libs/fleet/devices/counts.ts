import { z } from 'zod'
import type { FleetContext } from '#fleet/context'
import { type FoundFilter, matchingDevices } from '#fleet/devices/matching'
import { deviceStatuses } from '#fleet/devices/status'
import { inOrganization } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'

const valueCounts = z.array(z.object({ value: z.string(), devices: z.int() }))

export const deviceCountsSchema = z
  .object({
    total: z.int(),
    status: z.record(z.enum(deviceStatuses), z.int()),
    models: valueCounts.describe('The 200 most frequent models.'),
    firmware: valueCounts.describe('The 200 most frequent firmware versions.'),
    tags: valueCounts.describe('The 200 most frequent tags.'),
  })
  .meta({ id: 'DeviceCounts' })

type DeviceCounts = z.infer<typeof deviceCountsSchema>

/** The most frequent values of each list. */
const maxValues = 200

/** Counts the devices of an organization that match a filter (`device:read`). Throws 404, and 403 for a place, a box or a group. */
export const countDevices = (
  ctx: FleetContext,
  { organizationId, ...found }: FoundFilter & { organizationId: string },
): Promise<DeviceCounts> =>
  inOrganization(ctx, { scope: 'device:read', organizationId }, async (connection) => {
    const { condition, values } = await matchingDevices(ctx, connection, { organizationId, ...found })
    const rows = await queryEntities<{ list: string; value: string; devices: number }>(
      connection,
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
      status: Object.fromEntries(
        deviceStatuses.map((status) => [status, byStatus.get(status) ?? 0]),
      ) as DeviceCounts['status'],
      models: list('models'),
      firmware: list('firmware'),
      tags: list('tags'),
    }
  })
