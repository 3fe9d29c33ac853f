import { isUuid } from '#core/ids'
import type { SqlValue } from './sql.ts'

/** Devices per statement. QuestDB accepts statements of at most 1 MiB with their values. */
const devicesAtOnce = 20_000

const idLength = 36

/**
 * Returns a condition for the rows of these devices, which are one of the lists of `deviceLists`. They are one value, so that
 * QuestDB compiles the same short statement for each list: a list of 25,000 literals fills its heap. An id that is no UUID has
 * no rows.
 */
export function ofDevices(deviceIds: readonly string[], bind: (value: SqlValue) => string): string {
  const ids = deviceIds.filter(isUuid)
  if (ids.length === 0) return 'false'
  const id = `substring(${bind(ids.join(''))}, ((x - 1) * ${idLength} + 1)::int, ${idLength})`
  return `device_id IN (SELECT ${id} FROM long_sequence(${ids.length}))`
}

/** Splits devices into lists for one statement each; a single undefined for all devices. */
export function deviceLists(deviceIds: readonly string[] | undefined): (readonly string[] | undefined)[] {
  if (!deviceIds || deviceIds.length <= devicesAtOnce) return [deviceIds]
  return Array.from({ length: Math.ceil(deviceIds.length / devicesAtOnce) }, (_, list) =>
    deviceIds.slice(list * devicesAtOnce, (list + 1) * devicesAtOnce),
  )
}
