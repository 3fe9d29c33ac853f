import { deviceLists, ofDevices } from '#questdb/server/device-list'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import type { Way } from '#telemetry/position/trips'
import { fixAccuracyM } from '#telemetry/report/usable'

/** The way of a device after a dwell. `dwellArrivedAtMs`: when that dwell began. */
export type WayRow = Way & { deviceId: string; organizationId: string; dwellArrivedAtMs: number }

export type WayRange = {
  organizationId: string
  /** Ways that began in [fromMs, toMs). */
  fromMs: number
  toMs: number
  deviceIds?: readonly string[] | undefined
  /** Only ways from this one on in the order of the list: newest departure first, equal ones by device. `isDone`: without it. */
  after?: { departedAtMs: number; deviceId: string; isDone: boolean } | undefined
  limit: number
}

// The longest retention, so no stored dwell can have begun earlier.
const longestDwellMs = 400 * 86_400_000

/** Ways that began in the range, newest departure first, equal ones by device id. */
export async function waysIn(questdb: QuestdbSql, range: WayRange): Promise<WayRow[]> {
  const departures: WayRow[] = []
  for (const deviceIds of deviceLists(range.deviceIds))
    departures.push(...(await readDepartures(questdb, { ...range, deviceIds })))
  departures.sort((a, b) => b.departedAtMs - a.departedAtMs || (a.deviceId < b.deviceId ? -1 : 1))
  return withArrivals(questdb, departures.slice(0, range.limit))
}

async function readDepartures(questdb: QuestdbSql, range: WayRange): Promise<WayRow[]> {
  const { organizationId, after } = range
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => `$${values.push(value)}`
  const time = (ms: number) => bind(timestampParameter(ms))
  const conditions = [
    `org_id = ${bind(organizationId)}`,
    `ts >= ${time(range.fromMs - longestDwellMs)}`,
    `ts < ${time(range.toMs)}`,
    `departed_at >= ${time(range.fromMs)}`,
    `departed_at < ${time(range.toMs)}`,
    'NOT withdrawn',
  ]
  if (range.deviceIds) conditions.push(ofDevices(range.deviceIds, bind))
  if (after) {
    const departed = time(after.departedAtMs)
    const isLater = `device_id ${after.isDone ? '>' : '>='} ${bind(after.deviceId)}`
    conditions.push(`(departed_at < ${departed} OR (departed_at = ${departed} AND ${isLater}))`)
  }
  const rows = await questdb.queryArrays<[string, number, number, number, number]>(
    `SELECT device_id, ts, departed_at, lat, lon FROM dwell WHERE ${conditions.join(' AND ')}
     ORDER BY departed_at DESC, device_id LIMIT ${bind(range.limit)}`,
    values,
  )
  return rows.map(([deviceId, dwellArrivedAtMs, departedAtMs, lat, lon]) => ({
    ...{ deviceId, organizationId, dwellArrivedAtMs, departedAtMs, from: { lat, lon } },
    ...{ arrivedAtMs: null, to: null },
  }))
}

/**
 * Adds the next dwell of each device. It can begin before the departure: an arrival is the time of a fix, and a departure that of
 * the last report inside, whose fix can be some seconds older.
 */
async function withArrivals(questdb: QuestdbSql, ways: readonly WayRow[]): Promise<WayRow[]> {
  const [first] = ways
  if (!first) return []
  const fromMs = ways.reduce((oldest, { dwellArrivedAtMs }) => Math.min(oldest, dwellArrivedAtMs), Infinity)
  const values: SqlValue[] = [first.organizationId, timestampParameter(fromMs)]
  const bind = (value: SqlValue) => `$${values.push(value)}`
  const deviceIds = [...new Set(ways.map(({ deviceId }) => deviceId))]
  const rows = await questdb.queryArrays<[string, number, number, number]>(
    `SELECT device_id, ts, lat, lon FROM dwell
     WHERE org_id = $1 AND ts >= $2 AND NOT withdrawn AND ${ofDevices(deviceIds, bind)} ORDER BY ts`,
    values,
  )
  const arrivals = Map.groupBy(rows, ([deviceId]) => deviceId)
  return ways.map((way) => {
    const next = arrivals.get(way.deviceId)?.find(([, tsMs]) => tsMs > way.dwellArrivedAtMs)
    return next ? { ...way, arrivedAtMs: next[1], to: { lat: next[2], lon: next[3] } } : way
  })
}

/** Five hours with a fix each second. Of a way with more, the last fix of each second or longer step is read. */
const maxReports = 20_000
/** A receiver dates a fix back by less than this. */
const datedBackMs = 60_000

type ReportColumns = [
  ...[tsMs: number, lat: number, lon: number, fixTs: number | null],
  ...[accuracyM: number | null, hdop: number | null, speedMps: number | null, headingDeg: number | null],
]

/**
 * The usable fixes of a way in order, from the last one inside its dwell on; until `toMs` if it is not over. At most 20,000, evenly
 * over its time.
 */
export async function wayReports(questdb: QuestdbSql, way: WayRow, toMs: number): Promise<FixReport[]> {
  const untilMs = way.arrivedAtMs === null ? toMs : way.arrivedAtMs + datedBackMs
  const where = 'WHERE device_id = $1 AND org_id = $2 AND ts >= $3 AND ts <= $4 AND usable'
  const values = [way.deviceId, way.organizationId, timestampParameter(way.departedAtMs), timestampParameter(untilMs)]
  const columns = ['lat', 'lon', 'fix_ts', 'accuracy_m', 'hdop', 'speed_mps', 'heading_deg']
  let rows = await questdb.queryArrays<ReportColumns>(
    `SELECT ts, ${columns.join(', ')} FROM location ${where} ORDER BY ts LIMIT ${maxReports + 1}`,
    values,
  )
  if (rows.length > maxReports) {
    const stepS = Math.max(1, Math.ceil((untilMs - way.departedAtMs) / 1_000 / maxReports))
    const stepped = await questdb.queryArrays<[step: number, ...ReportColumns]>(
      `SELECT timestamp_floor('${stepS}s', ts) step, max(ts), ${columns.map((name) => `last(${name})`).join(', ')}
       FROM location ${where} GROUP BY step ORDER BY step`,
      values,
    )
    rows = stepped.map(([, ...row]) => row)
  }
  return rows.map(([tsMs, lat, lon, fixTs, accuracyM, hdop, speedMps, headingDeg]) => ({
    ...{ tsMs, lat, lon, fixTs, accuracyM: fixAccuracyM({ accuracyM, hdop }), speedMps, headingDeg },
  }))
}
