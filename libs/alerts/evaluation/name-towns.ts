import type { WrittenAlert } from '#alerts/inbox/alert'
import type { Near, Towns } from '#core/near'
import type { Connection } from '#postgres/pool'

type Located = { id: string; lat: number; lon: number }

/**
 * Stores which town is nearest to the last position of each alerted device, in the transaction that opens the alerts. Returns the
 * alerts with it. An alert of a webhook, or of a device without a position, has none.
 */
export async function nameTowns(
  connection: Connection,
  towns: Towns | undefined,
  opened: readonly WrittenAlert[],
): Promise<readonly WrittenAlert[]> {
  if (!towns || opened.length === 0) return opened
  const { rows } = await connection.query<Located>(
    `SELECT opened.id, d.last_lat AS lat, d.last_lon AS lon
     FROM unnest($1::uuid[], $2::uuid[]) AS opened (id, device_id) JOIN device d ON d.id = opened.device_id
     WHERE d.last_lat IS NOT NULL AND d.last_lon IS NOT NULL`,
    [opened.map(({ id }) => id), opened.map(({ deviceId }) => deviceId)],
  )
  const found = await towns.near(rows)
  const nearOf = new Map<string, Near>()
  for (const [index, { id }] of rows.entries()) {
    const near = found[index]
    if (near) nearOf.set(id, near)
  }
  if (nearOf.size === 0) return opened
  await connection.query(
    `UPDATE alert a SET near = named.near FROM unnest($1::uuid[], $2::jsonb[]) AS named (id, near) WHERE a.id = named.id`,
    [[...nearOf.keys()], [...nearOf.values()].map((near) => JSON.stringify(near))],
  )
  return opened.map((alert) => ({ ...alert, near: nearOf.get(alert.id) ?? null }))
}
