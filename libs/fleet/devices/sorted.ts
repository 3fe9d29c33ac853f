import type { FleetContext } from '#fleet/context'
import { type Device, deviceColumns } from '#fleet/devices/device'
import { type DeviceConditions, whereAll } from '#fleet/devices/matching'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { queryEntities } from '#postgres/entities'

/** What a list can be sorted by. A device without a value comes first in ascending order. */
const expressions = {
  name: { sql: 'lower(d.name) COLLATE "C"', type: 'text' },
  serial: { sql: 'lower(d.serial) COLLATE "C"', type: 'text' },
  model: { sql: 'lower(d.model) COLLATE "C"', type: 'text' },
  status: { sql: 'd.status', type: 'text' },
  firmware: { sql: `coalesce(d.firmware, '') COLLATE "C"`, type: 'text' },
  lastSeenAt: { sql: `coalesce(d.last_seen_at, '-infinity')`, type: 'timestamptz' },
  createdAt: { sql: 'd.created_at', type: 'timestamptz' },
} as const

type SortKey = keyof typeof expressions
/** A key, in descending order with a minus sign. */
export type DeviceSort = SortKey | `-${SortKey}`

const keys = Object.keys(expressions) as SortKey[]
export const deviceSorts = keys.flatMap((key): DeviceSort[] => [key, `-${key}`])

type SortedDevice = Device & { sortText: string }

/**
 * A page of a sorted list of the devices that meet all conditions. Devices with equal values are in the order of their ids. A
 * device whose value changes between two pages can be missing or appear twice.
 */
export async function readSorted(
  ctx: Pick<FleetContext, 'pool'>,
  { values, conditions }: DeviceConditions,
  sort: DeviceSort,
  { limit, after }: PageRequest,
): Promise<Page<Device>> {
  const isDescending = sort.startsWith('-')
  const { sql, type } = expressions[(isDescending ? sort.slice(1) : sort) as SortKey]
  const [direction, comparison] = isDescending ? ['DESC', '<'] : ['ASC', '>']
  const [afterValue, afterId] = after === undefined ? [] : (JSON.parse(after) as [value: string, id: string])
  const follows = `(${sql}, d.id) ${comparison} ($afterValue::${type}, $afterId::uuid)`
  const order = `ORDER BY ${sql} ${direction}, d.id ${direction}`
  const rows = await queryEntities<SortedDevice>(
    ctx.pool,
    `SELECT ${deviceColumns}, (${sql})::text AS "sortText" FROM (
       SELECT * FROM device d ${whereAll([...conditions, ...(after === undefined ? [] : [follows])])} ${order} LIMIT $limit
     ) d ${order}`,
    { ...values, ...(after !== undefined && { afterValue, afterId }), limit: limit + 1 },
  )
  const toDevice = ({ sortText: _, ...device }: SortedDevice): Device => device
  return pageBy(rows, limit, toDevice, ({ sortText, id }) => JSON.stringify([sortText, id]))
}
