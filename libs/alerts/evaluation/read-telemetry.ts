import { ofOwners, type RowOwners } from '#questdb/server/owned-only'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'

/** A limit on a stored value, and for how long it must be exceeded. */
export type Limit = { kind: 'weak_signal' | 'high_temperature' | 'low_voltage'; threshold: number; forMinutes: number }

type DeviceOf = { organizationId: string; deviceId: string }

/** A device beyond the limit. `sinceMs`: it has been so since then, or longer. `value`: the newest one, if there is one. */
type Sustained = DeviceOf & { sinceMs: number; value: number | null }

// Other organizations wait meanwhile. QuestDB stops the statement then.
const maxReadMs = 15_000

const minuteMs = 60_000
// A device is judged only if it has sent a sample within this time or within the period, whichever is longer.
const longestGapMs = 15 * minuteMs
// Clocks of devices may be ahead.
const aheadMs = 5 * minuteMs

/** Where a kind's values are. `exceeds` is false for null. No service is beyond every limit of the signal. */
const sources = {
  weak_signal: {
    table: 'cellular',
    present: "(rsrp_dbm IS NOT NULL OR rat = 'none')",
    exceeds: (limit: string) => `(rsrp_dbm < ${limit} OR rat = 'none')`,
    value: 'rsrp_dbm',
  },
  high_temperature: {
    table: 'system',
    present: '(temperature_c IS NOT NULL OR modem_temperature_c IS NOT NULL)',
    exceeds: (limit: string) => `(temperature_c > ${limit} OR modem_temperature_c > ${limit})`,
    value:
      'CASE WHEN modem_temperature_c > temperature_c OR temperature_c IS NULL THEN modem_temperature_c ELSE temperature_c END',
  },
  low_voltage: {
    table: 'system',
    present: 'input_voltage_v IS NOT NULL',
    exceeds: (limit: string) => `(input_voltage_v < ${limit})`,
    value: 'input_voltage_v',
  },
}

/**
 * The devices of these organizations whose samples exceeded the limit during the whole period: a sample at or before its
 * start did, and every sample since then.
 */
export async function readSustained(
  questdb: QuestdbSql,
  limit: Limit,
  owners: RowOwners,
  nowMs: number,
): Promise<Sustained[]> {
  const { text, values } = await aggregates(questdb, limit, owners, nowMs)
  const freshMs = nowMs - Math.max(limit.forMinutes * minuteMs, longestGapMs)
  const rows = await questdb.queryArrays<[string, string, number, number | null]>(
    `SELECT org_id, device_id, beyond_at, value FROM (${text})
     WHERE beyond_at IS NOT NULL AND (within_at IS NULL OR within_at < beyond_at) AND last_at >= $5`,
    [...values, timestampParameter(freshMs)],
    AbortSignal.timeout(maxReadMs),
  )
  return rows.map(([organizationId, deviceId, sinceMs, value]) => ({ organizationId, deviceId, sinceMs, value }))
}

/** The devices among `deviceIds` whose newest sample is within the limit. */
export async function readWithin(
  questdb: QuestdbSql,
  limit: Limit,
  owners: RowOwners,
  deviceIds: ReadonlySet<string>,
  nowMs: number,
): Promise<DeviceOf[]> {
  const { text, values } = await aggregates(questdb, limit, owners, nowMs)
  const rows = await questdb.queryArrays<[string, string]>(
    `SELECT org_id, device_id FROM (${text}) WHERE within_at = last_at`,
    values,
    AbortSignal.timeout(maxReadMs),
  )
  return rows.flatMap(([organizationId, deviceId]) => (deviceIds.has(deviceId) ? [{ organizationId, deviceId }] : []))
}

/**
 * Per device: the newest sample, the newest one within the limit, and the newest one beyond it that is not younger than the
 * period. Times are $2 to $4.
 */
async function aggregates(
  questdb: QuestdbSql,
  { kind, threshold, forMinutes }: Limit,
  owners: RowOwners,
  nowMs: number,
): Promise<{ text: string; values: SqlValue[] }> {
  const { table, present, exceeds, value } = sources[kind]
  const startMs = nowMs - forMinutes * minuteMs
  const exceeding = exceeds('$1::double')
  const range = { fromMs: startMs - longestGapMs, toMs: nowMs + aheadMs }
  const ofOrganizations = await ofOwners(questdb, owners, [table], range)
  return {
    text: `SELECT org_id, device_id, max(ts) last_at, last(${value}) value,
        max(CASE WHEN ${exceeding} THEN null ELSE ts END) within_at,
        max(CASE WHEN ${exceeding} AND ts <= $3 THEN ts ELSE null END) beyond_at
      FROM ${table} WHERE ts >= $2 AND ts < $4 AND ${present} AND ${ofOrganizations}`,
    values: [threshold, timestampParameter(range.fromMs), timestampParameter(startMs), timestampParameter(range.toMs)],
  }
}
