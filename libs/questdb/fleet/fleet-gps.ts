import { mapInSlices } from '#core/slices'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'
import { signalQuality } from '#telemetry/coverage/quality'

/** A device's newest usable fix. */
export type PositionRow = {
  tsMs: number
  lat: number
  lon: number
  fix: string | null
  accuracyM: number | null
  speedMps: number | null
  headingDeg: number | null
}

/** The newest cellular sample of a device's modem, with the position where it was measured. */
export type SignalRow = {
  tsMs: number
  modem: string | null
  rat: string | null
  plmn: string | null
  operatorName: string | null
  rsrpDbm: number | null
  rsrqDb: number | null
  sinrDb: number | null
  nrRsrpDbm: number | null
  quality: string | null
  qualityBasis: string | null
  alignment: string | null
  alignErrorM: number | null
  lat: number | null
  lon: number | null
  /** The time of the oldest sample that gave a value; null if the newest gave all. */
  completedFromMs: number | null
}

export type DeviceRow<Row> = { deviceId: string; state: Row }

/** Which rows to read: measured in [fromMs, toMs), optionally only those received since a time or of these devices. */
export type FleetRange = {
  fromMs: number
  toMs: number
  receivedSinceMs?: number
  deviceIds?: readonly string[]
}

/** Every device's newest usable fix in the range. */
export async function fleetPositions(
  questdb: QuestdbSql,
  organizationId: string,
  range: FleetRange,
): Promise<DeviceRow<PositionRow>[]> {
  const columns = 'device_id, ts, lat, lon, fix, accuracy_m, speed_mps, heading_deg'
  const rows = await questdb.queryArrays<PositionColumns>(...newestOf('location', columns, organizationId, range))
  return mapInSlices(rows, ([deviceId, tsMs, lat, lon, fix, accuracyM, speedMps, headingDeg]) => ({
    deviceId,
    state: { tsMs, lat, lon, fix, accuracyM, speedMps, headingDeg },
  }))
}

type Maybe<Value> = Value | null
type PositionColumns = [
  deviceId: string,
  tsMs: number,
  lat: number,
  lon: number,
  fix: Maybe<string>,
  accuracyM: Maybe<number>,
  speedMps: Maybe<number>,
  headingDeg: Maybe<number>,
]

/** The newest cellular sample of each modem of every device in the range, with its aligned position and its quality. */
export async function fleetSignals(
  questdb: QuestdbSql,
  organizationId: string,
  range: FleetRange,
): Promise<DeviceRow<SignalRow>[]> {
  const columns =
    'device_id, ts, modem, rat, plmn, operator_name, rsrp_dbm, rsrq_db, sinr_db, nr_rsrp_dbm, rssi_dbm, alignment, align_error_m, aligned_lat, aligned_lon'
  const rows = await questdb.queryArrays<SignalColumns>(...newestOf('cellular', columns, organizationId, range))
  return mapInSlices(rows, (row) => {
    const [deviceId, tsMs, modem, rat, plmn, operatorName, rsrpDbm, rsrqDb, sinrDb, nrRsrpDbm, rssiDbm, ...aligned] =
      row
    const [alignment, alignErrorM, lat, lon] = aligned
    const { quality, qualityBasis } = signalQuality({ rat, rsrpDbm, sinrDb, rssiDbm })
    const radio = { tsMs, modem, rat, plmn, operatorName, rsrpDbm, rsrqDb, sinrDb, nrRsrpDbm, quality, qualityBasis }
    return { deviceId, state: { ...radio, alignment, alignErrorM, lat, lon, completedFromMs: null } }
  })
}

type SignalColumns = [
  deviceId: string,
  tsMs: number,
  modem: Maybe<string>,
  rat: Maybe<string>,
  plmn: Maybe<string>,
  operatorName: Maybe<string>,
  rsrpDbm: Maybe<number>,
  rsrqDb: Maybe<number>,
  sinrDb: Maybe<number>,
  nrRsrpDbm: Maybe<number>,
  rssiDbm: Maybe<number>,
  alignment: Maybe<string>,
  alignErrorM: Maybe<number>,
  lat: Maybe<number>,
  lon: Maybe<number>,
]

/** When a modem of a device was last connected, or had service. */
export type ModemTime = { modem: string; tsMs: number }

type ReadTimes = (questdb: QuestdbSql, organizationId: string, range: FleetRange) => Promise<DeviceRow<ModemTime>[]>

const newestTimes =
  (table: 'connection' | 'cellular', condition: string): ReadTimes =>
  async (questdb, organizationId, { deviceIds, ...range }) => {
    const values: SqlValue[] = [organizationId, timestampParameter(range.fromMs), timestampParameter(range.toMs)]
    const of = deviceIds ? ` AND device_id IN (${deviceIds.map((id) => `$${values.push(id)}`).join(', ')})` : ''
    const rows = await questdb.queryArrays<[deviceId: string, modem: string, tsMs: number]>(
      `SELECT device_id, modem, max(ts) FROM ${table}
       WHERE org_id = $1 AND ts >= $2 AND ts < $3 AND ${condition} AND modem IS NOT NULL${of}
       GROUP BY device_id, modem`,
      values,
    )
    return rows.map(([deviceId, modem, tsMs]) => ({ deviceId, state: { modem, tsMs } }))
  }

/** When each modem that has a name was last connected in the range. */
export const fleetConnected = newestTimes('connection', "state = 'connected'")

/** When each modem that has a name last had service in the range. */
export const fleetServed = newestTimes('cellular', "(rat IS NULL OR rat != 'none')")

// The conditions are in a sub-query: next to LATEST ON, QuestDB ignores or spoils those on columns without an index.
function newestOf(
  table: 'location' | 'cellular',
  columns: string,
  organizationId: string,
  range: FleetRange,
): [text: string, values: SqlValue[]] {
  const values: SqlValue[] = [organizationId, timestampParameter(range.fromMs), timestampParameter(range.toMs)]
  let condition = 'org_id = $1 AND ts >= $2 AND ts < $3'
  if (table === 'location') condition += ' AND usable'
  if (range.receivedSinceMs !== undefined) {
    condition += ` AND received_at >= $${values.push(timestampParameter(range.receivedSinceMs))}`
  }
  if (range.deviceIds) {
    condition += ` AND device_id IN (${range.deviceIds.map((id) => `$${values.push(id)}`).join(', ')})`
  }
  const partition = table === 'cellular' ? 'device_id, modem' : 'device_id'
  const text = `SELECT ${columns} FROM (SELECT * FROM ${table} WHERE ${condition}) LATEST ON ts PARTITION BY ${partition}`
  return [text, values]
}
