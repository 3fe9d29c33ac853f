import { idList } from '#questdb/server/id-list'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import type { CellularRow } from '#telemetry/report/rows'
import { fixAccuracyM } from '#telemetry/report/usable'
import { type RadioRow, radioRow } from '#telemetry/rows/radio-row'
import { type Column, tables } from '#telemetry/rows/tables'

/** The origin of a stored row. It is kept when the row is written again. */
export type Arrival = { organizationId: string; receivedAtMs: number }
export type StoredFixReport = FixReport & Arrival

/** A stored dwell. Late data has revoked a `withdrawn` one. */
export type StoredDwell = { arrivedAtMs: number; lastInsideAtMs: number; withdrawn: boolean } & Arrival

/** `receivedBeforeMs` leaves out data that was received later. */
export type TrackQuery = TimeRange & { receivedBeforeMs?: number | undefined }

const farPast = Date.UTC(2020, 0, 1)
const farFuture = Date.UTC(2100, 0, 1)

/** Returns the condition of a query on these devices, at most `maxIds`, and the values of its parameters. */
export function trackFilter(deviceIds: readonly string[], { fromMs, toMs, receivedBeforeMs }: TrackQuery) {
  const { list, ids } = idList(deviceIds, 4)
  const values: SqlValue[] = [
    timestampParameter(Math.max(fromMs, farPast)),
    timestampParameter(Math.min(toMs, farFuture)),
    timestampParameter(receivedBeforeMs ?? farFuture),
    ...ids,
  ]
  return { where: `ts >= $1 AND ts <= $2 AND received_at < $3 AND device_id IN (${list})`, values }
}

/**
 * How many rows a query may give, and which first; a page of rows in order of time ends with a full one. The limit is part
 * of the statement, so use few different ones.
 */
export type PageLimit = { limit: number; newestFirst?: boolean }

const orderOf = ({ limit, newestFirst }: PageLimit) => `ORDER BY ts${newestFirst ? ' DESC' : ''} LIMIT ${limit}`

type ReportRow = [
  ...[deviceId: string, tsMs: number, lat: number, lon: number],
  ...[fixTs: number | null, accuracyM: number | null, hdop: number | null],
  ...[speedMps: number | null, headingDeg: number | null],
  ...[organizationId: string, receivedAtMs: number],
]

/** Usable fixes of these devices by device, each list in the order of the page; at most `limit` in all. */
export async function readFixReports(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  query: TrackQuery,
  page: PageLimit,
): Promise<Map<string, StoredFixReport[]>> {
  const { where, values } = trackFilter(deviceIds, query)
  const rows = await questdb.queryArrays<ReportRow>(
    `SELECT device_id, ts, lat, lon, fix_ts, accuracy_m, hdop, speed_mps, heading_deg, org_id, received_at FROM location
      WHERE ${where} AND usable ${orderOf(page)}`,
    values,
  )
  return byDevice(rows, ([deviceId, tsMs, lat, lon, fixTs, accuracyM, hdop, speedMps, headingDeg, ...arrival]) => {
    const [organizationId, receivedAtMs] = arrival
    const fix = { tsMs, lat, lon, fixTs, accuracyM: fixAccuracyM({ accuracyM, hdop }), speedMps, headingDeg }
    return [deviceId, { ...fix, organizationId, receivedAtMs }]
  })
}

/** Lists by device, in the order of the rows. */
function byDevice<Row, Item>(
  rows: readonly Row[],
  itemOf: (row: Row) => [deviceId: string, item: Item],
): Map<string, Item[]> {
  const lists = new Map<string, Item[]>()
  for (const row of rows) {
    const [deviceId, item] = itemOf(row)
    const list = lists.get(deviceId)
    if (list) list.push(item)
    else lists.set(deviceId, [item])
  }
  return lists
}

const cellularColumns = tables.cellular.columns
/**
 * Rows are copies of this, so that all have one shape. An object that gets so many members one by one becomes a hash table,
 * which takes 3,300 bytes instead of 420, and 8 µs instead of 0.5 for each copy.
 */
const emptyRow: Record<string, unknown> = {
  kind: 'cellular',
  tsMs: 0,
  ...Object.fromEntries(cellularColumns.map(({ key }) => [key, null])),
}
const cellularSelection = ['device_id', 'ts', 'org_id', ...cellularColumns.map(({ name }) => name)].join(', ')

/**
 * Returns complete RF rows of these devices by device, each list in the order of the page. At most `limit` in total.
 */
export async function readCellularRows(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  query: TrackQuery,
  page: PageLimit,
): Promise<Map<string, RadioRow[]>> {
  const { where, values } = trackFilter(deviceIds, query)
  const found = await questdb.queryArrays<unknown[]>(
    `SELECT ${cellularSelection} FROM cellular WHERE ${where} ${orderOf(page)}`,
    values,
  )
  return byDevice(found, ([deviceId, tsMs, organizationId, ...members]) => {
    const row: Record<string, unknown> = { ...emptyRow, tsMs }
    for (let index = 0; index < cellularColumns.length; index++) {
      const value = members[index]
      if (value === null || value === undefined) continue
      const { key, type } = cellularColumns[index] as Column
      row[key] = type === 'LONG' ? BigInt(String(value)) : value
    }
    const stored = row as CellularRow & { receivedAtMs: number }
    return [String(deviceId), radioRow(stored, String(organizationId), stored.receivedAtMs)]
  })
}

type DwellRow = {
  device_id: string
  ts: number
  org_id: string
  received_at: number
  last_inside_at: number
  withdrawn: boolean
}

/** Dwells of these devices that began in the range, by device, each list in the order of the page. */
export async function readDwells(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  range: TimeRange,
  page: PageLimit,
): Promise<Map<string, StoredDwell[]>> {
  const { where, values } = trackFilter(deviceIds, range)
  const found = await questdb.query<DwellRow>(
    `SELECT device_id, ts, org_id, received_at, last_inside_at, withdrawn FROM dwell WHERE ${where} ${orderOf(page)}`,
    values,
  )
  return byDevice(found, (row) => [
    row.device_id,
    {
      arrivedAtMs: row.ts,
      lastInsideAtMs: row.last_inside_at,
      withdrawn: row.withdrawn,
      organizationId: row.org_id,
      receivedAtMs: row.received_at,
    },
  ])
}
