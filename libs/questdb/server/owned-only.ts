import { isUuid } from '#core/ids'
import { placeholders, type QuestdbSql, timestampParameter } from '#questdb/server/sql'

/** The intervals [fromMs, toMs) in which an organization owned a device. */
export type OwnedDevice = {
  organizationId: string
  deviceId: string
  intervals: readonly { fromMs: number; toMs: number }[]
}

/** Organizations, and the devices that came to them by a transfer since the oldest row that is read. */
export type RowOwners = { organizationIds: readonly string[]; late: readonly OwnedDevice[] }

/** The rows of a table from `fromMs` to before `toMs`. `time`: the column with the time of the sample. */
type Rows = { table: string; time?: 'ts' | 'voted_at'; fromMs: number; toMs: number }

const devicesAtOnce = 500
/** A vote has the time of its minute, which is before that of its sample. */
const minuteMs = 60_000

/**
 * SQL condition: a row of one of these organizations that was measured while the organization owned the device. Rows get their
 * organization when they are accepted, so that those buffered before a transfer have the new one.
 */
export async function ofOwners(
  questdb: QuestdbSql,
  { organizationIds, late }: RowOwners,
  tables: readonly string[],
  range: { fromMs: number; toMs: number },
): Promise<string> {
  const outside = new Set<OwnedDevice>()
  for (const table of tables)
    for (const device of await withRowsOutside(questdb, { table, ...range }, late)) outside.add(device)
  // Ids come from columns of type uuid.
  const organizations = organizationIds.map((id) => `'${id}'`).join(', ')
  return [`org_id IN (${organizations})`, ...[...outside].map((device) => inIntervals(device))].join(' AND ')
}

/**
 * Those of the devices that may have rows from outside their intervals, such as samples buffered before a transfer. The other
 * devices need no condition.
 */
export async function withRowsOutside(
  questdb: QuestdbSql,
  { table, time = 'ts', fromMs, toMs }: Rows,
  owned: readonly OwnedDevice[],
): Promise<OwnedDevice[]> {
  const outside: OwnedDevice[] = []
  for (let start = 0; start < owned.length; start += devicesAtOnce) {
    const some = owned.slice(start, start + devicesAtOnce)
    const deviceIds = [...new Set(some.map(({ deviceId }) => deviceId))]
    const rows = await questdb.queryArrays<[string, string, firstMs: number, lastMs: number]>(
      `SELECT org_id, device_id, min(${time}), max(${time}) FROM ${table}
       WHERE ts >= $1 AND ts < $2 AND device_id IN (${placeholders(deviceIds.length, 3)}) GROUP BY org_id, device_id`,
      [timestampParameter(fromMs - minuteMs), timestampParameter(toMs), ...deviceIds],
    )
    const found = new Map(rows.map(([owner, id, firstMs, lastMs]) => [`${owner} ${id}`, { firstMs, lastMs }]))
    outside.push(
      ...some.filter(({ organizationId, deviceId, intervals }) => {
        const times = found.get(`${organizationId} ${deviceId}`)
        return times && !intervals.some(({ fromMs, toMs }) => times.firstMs >= fromMs && times.lastMs < toMs)
      }),
    )
  }
  return outside
}

/** SQL condition: a row is not one of the device under this organization, or is from its intervals. */
export function inIntervals(
  { organizationId, deviceId, intervals }: OwnedDevice,
  time: 'ts' | 'voted_at' = 'ts',
): string {
  if (!isUuid(organizationId) || !isUuid(deviceId)) throw new TypeError('An id is a UUID.')
  const at = (ms: number) => `'${new Date(ms).toISOString()}'::timestamp`
  const within = intervals.map(({ fromMs, toMs }) => {
    const before = Number.isFinite(toMs) ? ` AND ${time} < ${at(toMs)}` : ''
    return ` OR (${time} >= ${at(fromMs)}${before})`
  })
  return `(device_id != '${deviceId}' OR org_id != '${organizationId}'${within.join('')})`
}
