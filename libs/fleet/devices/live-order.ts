import type { FleetContext } from '#fleet/context'
import { type Device, deviceColumns } from '#fleet/devices/device'
import type { LiveSelection } from '#fleet/devices/live-filter'
import { type DeviceConditions, whereAll } from '#fleet/devices/matching'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { queryEntities } from '#postgres/entities'

/** Few devices fill the page if the registry refuses none. If it refuses most, each statement looks at more of them. */
const first = 4
const more = 8
const maxIds = 50_000

/** A page of the devices of a live selection that meet all conditions, in the order of the selection. */
export async function readInLiveOrder(
  { pool }: Pick<FleetContext, 'pool'>,
  { conditions, values }: DeviceConditions,
  live: LiveSelection,
  { limit, after }: PageRequest,
): Promise<Page<Device>> {
  const isWanted = whereAll([...conditions, 'd.id = ANY ($candidates::uuid[])'])
  const found: string[] = []
  let position = after
  for (let count = first * (limit + 1); found.length <= limit; count = Math.min(maxIds, count * more)) {
    const candidates = await live.following(position, count)
    const last = candidates.at(-1)
    if (last === undefined) break
    const rows = await queryEntities<{ id: string }>(pool, `SELECT d.id FROM device d ${isWanted}`, {
      ...values,
      candidates,
    })
    const matching = new Set(rows.map(({ id }) => id))
    for (const id of candidates) if (matching.has(id)) found.push(id)
    position = live.positionOf(last)
    if (candidates.length < count) break
  }
  const ids = found.slice(0, limit + 1)
  const devices = await queryEntities<Device>(pool, `SELECT ${deviceColumns} FROM device d ${isWanted}`, {
    ...values,
    candidates: ids,
  })
  const byId = new Map(devices.map((device) => [device.id, device]))
  const rows = ids.flatMap((id) => byId.get(id) ?? [])
  return pageBy(
    rows,
    limit,
    (device) => device,
    ({ id }) => live.positionOf(id),
  )
}
