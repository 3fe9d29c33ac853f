import type { FleetContext } from '#fleet/context'
import { type Device, type DeviceRow, deviceColumns, toDevice } from '#fleet/devices/device'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'

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

/** Conditions on device `d`, with their values. `bind` adds a value and returns its parameter. */
type Selection = { values: unknown[]; conditions: string[]; bind: (value: unknown) => string }
type SortedRow = DeviceRow & { sort_text: string }

/**
 * A page of a sorted list. Devices with equal values are in the order of their ids. A device whose value changes between two
 * pages can be missing or appear twice.
 */
export async function readSorted(
  ctx: Pick<FleetContext, 'pool'>,
  { values, conditions, bind }: Selection,
  sort: DeviceSort,
  page: PageRequest,
): Promise<Page<Device>> {
  const isDescending = sort.startsWith('-')
  const { sql, type } = expressions[(isDescending ? sort.slice(1) : sort) as SortKey]
  const [direction, comparison] = isDescending ? ['DESC', '<'] : ['ASC', '>']
  if (page.after !== undefined) {
    const [value, id] = JSON.parse(page.after) as [value: string, id: string]
    conditions.push(`(${sql}, d.id) ${comparison} (${bind(value)}::${type}, ${bind(id)}::uuid)`)
  }
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
  const { rows } = await ctx.pool.query<SortedRow>(
    `SELECT ${deviceColumns}, (${sql})::text AS sort_text FROM device d ${where}
      ORDER BY ${sql} ${direction}, d.id ${direction} LIMIT ${bind(page.limit + 1)}`,
    values,
  )
  return pageBy(rows, page.limit, toDevice, ({ sort_text, id }) => JSON.stringify([sort_text, id]))
}
