import { mapInSlices } from '#core/slices'
import { deviceLists, ofDevices } from '#questdb/server/device-list'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'
import { longitudeRanges } from '#telemetry/geo/antimeridian'
import type { BoundingBox } from '#telemetry/geo/geo'

/** The current dwell of a device. */
export type OngoingDwellRow = { arrivedAtMs: number; lat: number; lon: number; radiusM: number }

/** Returns the current dwell of every device that has one, if it began at or after `fromMs`. */
export async function ongoingDwells(
  questdb: QuestdbSql,
  organizationId: string,
  fromMs: number,
): Promise<{ deviceId: string; state: OngoingDwellRow }[]> {
  const rows = await questdb.queryArrays<[string, number, number, number, number]>(
    `SELECT device_id, ts, lat, lon, radius_m FROM (
       SELECT * FROM (SELECT * FROM dwell WHERE org_id = $1 AND ts >= $2 AND NOT withdrawn)
       LATEST ON ts PARTITION BY device_id
     ) WHERE departed_at IS NULL`,
    [organizationId, timestampParameter(fromMs)],
  )
  return rows.map(([deviceId, arrivedAtMs, lat, lon, radiusM]) => ({
    deviceId,
    state: { arrivedAtMs, lat, lon, radiusM },
  }))
}

/** A stored dwell. `departedAtMs` and `firstOutsideAtMs` are null until a fix outside it has arrived. */
export type StoredDwellRow = {
  id: string
  deviceId: string
  organizationId: string
  arrivedAtMs: number
  departedAtMs: number | null
  firstOutsideAtMs: number | null
  lat: number
  lon: number
  radiusM: number
  fixCount: number
  gap: boolean
}

export type DwellRange = {
  organizationId: string
  /** Dwells that overlap [fromMs, toMs). */
  fromMs: number
  toMs: number
  deviceIds?: readonly string[] | undefined
  /** The end of open dwells, for filters on the duration. */
  nowMs: number
  minDurationMs?: number | undefined
  ongoing?: boolean | undefined
  /** Dwells whose centre lies inside. */
  bbox?: BoundingBox | undefined
  /** Only dwells after this one in the order of the list. */
  after?: { arrivedAtMs: number; deviceId: string } | undefined
  limit?: number | undefined
}

// The longest retention, so no stored dwell can have begun earlier.
const longestDwellMs = 400 * 86_400_000

type DwellColumns = [
  id: string,
  deviceId: string,
  arrivedAtMs: number,
  departedAtMs: number | null,
  firstOutsideAtMs: number | null,
  lat: number,
  lon: number,
  radiusM: number,
  fixCount: string,
  gap: boolean,
]

/** Dwells that touch the range, newest arrival first, equal arrivals by device id. */
export async function dwellsTouching(questdb: QuestdbSql, range: DwellRange): Promise<StoredDwellRow[]> {
  const lists = deviceLists(range.deviceIds)
  if (lists.length === 1) return readDwells(questdb, range)
  const found: StoredDwellRow[] = []
  for (const deviceIds of lists) for (const row of await readDwells(questdb, { ...range, deviceIds })) found.push(row)
  found.sort((a, b) => b.arrivedAtMs - a.arrivedAtMs || (a.deviceId < b.deviceId ? -1 : 1))
  return found.slice(0, range.limit)
}

async function readDwells(questdb: QuestdbSql, range: DwellRange): Promise<StoredDwellRow[]> {
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => `$${values.push(value)}`
  const time = (ms: number) => bind(timestampParameter(ms))
  const conditions = [
    `org_id = ${bind(range.organizationId)}`,
    `ts >= ${time(range.fromMs - longestDwellMs)}`,
    `ts < ${time(range.toMs)}`,
    'NOT withdrawn',
    `(departed_at IS NULL OR departed_at >= ${time(range.fromMs)})`,
  ]
  if (range.ongoing !== undefined) conditions.push(`departed_at IS ${range.ongoing ? '' : 'NOT '}NULL`)
  if (range.deviceIds) conditions.push(ofDevices(range.deviceIds, bind))
  if (range.minDurationMs !== undefined) {
    const end = `coalesce(departed_at::long, ${bind(range.nowMs * 1_000)}::long)`
    conditions.push(`${end} - ts::long >= ${bind(range.minDurationMs * 1_000)}::long`)
  }
  if (range.bbox) {
    const [, minLat, , maxLat] = range.bbox
    conditions.push(`lat >= ${bind(minLat)} AND lat <= ${bind(maxLat)}`)
    const parts = longitudeRanges(range.bbox).map(([from, to]) => `(lon >= ${bind(from)} AND lon <= ${bind(to)})`)
    conditions.push(`(${parts.join(' OR ')})`)
  }
  if (range.after) {
    const arrived = time(range.after.arrivedAtMs)
    conditions.push(`(ts < ${arrived} OR (ts = ${arrived} AND device_id > ${bind(range.after.deviceId)}))`)
  }
  const rows = await questdb.queryArrays<DwellColumns>(
    `SELECT id, device_id, ts, departed_at, first_outside_at, lat, lon, radius_m, fix_count, gap FROM dwell
     WHERE ${conditions.join(' AND ')} ORDER BY ts DESC, device_id
     ${range.limit === undefined ? '' : `LIMIT ${bind(range.limit)}`}`,
    values,
  )
  // Every row has a copy of its device's id. Keep one of them.
  const deviceIds = new Map<string, string>()
  return mapInSlices(rows, (row) => dwellRow(range.organizationId, row, deviceIds))
}

function dwellRow(organizationId: string, columns: DwellColumns, deviceIds: Map<string, string>): StoredDwellRow {
  const [id, ownDeviceId, arrivedAtMs, departedAtMs, firstOutsideAtMs, lat, lon, radiusM, fixCount, gap] = columns
  const deviceId = deviceIds.get(ownDeviceId) ?? ownDeviceId
  deviceIds.set(deviceId, deviceId)
  return {
    ...{ id, deviceId, organizationId, arrivedAtMs, departedAtMs, firstOutsideAtMs },
    ...{ lat, lon, radiusM, fixCount: Number(fixCount), gap },
  }
}
