import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'

const columns = {
  rat: 'rat',
  plmn: 'plmn',
  operatorName: 'operator_name',
  cellId: 'cell_id',
  pci: 'pci',
  rssiDbm: 'rssi_dbm',
  rsrpDbm: 'rsrp_dbm',
  rsrqDb: 'rsrq_db',
  sinrDb: 'sinr_db',
  nrRsrpDbm: 'nr_rsrp_dbm',
} as const
export type RadioField = keyof typeof columns
const names = Object.keys(columns) as RadioField[]

/** The radio values of a cellular sample, null where it has none. */
export type RadioSample = {
  deviceId: string
  tsMs: number
  modem: string | null
  values: Record<RadioField, string | number | null>
}

/** Enough for 500 devices in pieces for ten minutes, and not too much for routers that report several times a second. */
const maxRows = 20_000

/** The newest radio values of devices that were measured in [fromMs, toMs), newest first. */
export async function radioSamples(
  questdb: QuestdbSql,
  organizationId: string,
  deviceIds: readonly string[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<RadioSample[]> {
  const values: SqlValue[] = [organizationId, timestampParameter(fromMs), timestampParameter(toMs)]
  const ids = deviceIds.map((id) => `$${values.push(id)}`).join(', ')
  const rows = await questdb.queryArrays<[string, number, string | null, ...(string | number | null)[]]>(
    `SELECT device_id, ts, modem, ${Object.values(columns).join(', ')} FROM cellular
     WHERE org_id = $1 AND ts >= $2 AND ts < $3 AND device_id IN (${ids}) ORDER BY ts DESC LIMIT ${maxRows}`,
    values,
  )
  return rows.map(([deviceId, tsMs, modem, ...read]) => ({
    ...{ deviceId, tsMs, modem },
    values: Object.fromEntries(names.map((name, index) => [name, read[index] ?? null])) as RadioSample['values'],
  }))
}

/** The devices of an organization with one of these values in a sample that was measured in [fromMs, toMs). */
export async function devicesWithValue(
  questdb: QuestdbSql,
  organizationId: string,
  fields: readonly RadioField[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<Set<string>> {
  const hasOne = fields.map((field) => `${columns[field]} IS NOT NULL`).join(' OR ')
  const rows = await questdb.queryArrays<[deviceId: string]>(
    `SELECT DISTINCT device_id FROM cellular WHERE org_id = $1 AND ts >= $2 AND ts < $3 AND (${hasOne})`,
    [organizationId, timestampParameter(fromMs), timestampParameter(toMs)],
  )
  return new Set(rows.map(([deviceId]) => deviceId))
}
