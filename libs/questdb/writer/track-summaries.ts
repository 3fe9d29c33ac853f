import { idQuery } from '#questdb/server/id-list'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { OpenDwellSummary } from '#telemetry/position/dwell'
import { type StoredDwell, type TrackQuery, trackFilter } from './device-tracks.ts'

/** Returns the number of usable fixes of each device. Devices without one are left out. */
export async function countFixReports(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  query: TrackQuery,
): Promise<Map<string, number>> {
  const { where, values } = trackFilter(deviceIds, query)
  const rows = await questdb.queryArrays<[string, string]>(
    `SELECT device_id, count() AS amount FROM location WHERE ${where} AND usable GROUP BY device_id`,
    values,
  )
  return new Map(rows.map(([deviceId, amount]) => [deviceId, Number(amount)]))
}

export type StoredAmount = { rows: number; cellsCharacters: number }

/** How many RF rows these devices have, and how large their cells are together; devices without rows are left out. */
export async function countCellularRows(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  query: TrackQuery,
): Promise<Map<string, StoredAmount>> {
  const { where, values } = trackFilter(deviceIds, query)
  const size = 'sum(CASE WHEN cells IS NULL THEN 0 ELSE length(cells) END)'
  const rows = await questdb.queryArrays<[string, string, string]>(
    `SELECT device_id, count() AS amount, ${size} AS size FROM cellular WHERE ${where} GROUP BY device_id`,
    values,
  )
  return new Map(
    rows.map(([deviceId, amount, size]) => [deviceId, { rows: Number(amount), cellsCharacters: Number(size) }]),
  )
}

type StoredPosition = { tsMs: number; lat: number; lon: number }

/**
 * Returns the last position of each device before a time, from reports received before another. Devices without one are
 * left out.
 */
export async function readLastPositions(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  { beforeMs, receivedBeforeMs }: { beforeMs: number; receivedBeforeMs: number },
): Promise<Map<string, StoredPosition>> {
  const { query, value } = idQuery(deviceIds, 2)
  // No condition on another column is next to LATEST ON, for the reason in `readNewestTimes`.
  const newest = await questdb.queryArrays<[string, number, number, number, boolean, number]>(
    `SELECT device_id, ts, lat, lon, usable, received_at FROM location
      WHERE ts < $1 AND device_id IN (${query}) LATEST ON ts PARTITION BY device_id`,
    [timestampParameter(beforeMs), value],
  )
  const positions = new Map<string, StoredPosition>()
  await Promise.all(
    newest.map(async ([deviceId, tsMs, lat, lon, usable, receivedAtMs]) => {
      const isWanted = usable && receivedAtMs < receivedBeforeMs
      const position = isWanted
        ? { tsMs, lat, lon }
        : await readLastPosition(questdb, deviceId, { beforeMs: tsMs, receivedBeforeMs })
      if (position) positions.set(deviceId, position)
    }),
  )
  return positions
}

/** The same of one device, whose newest row is no usable fix or was received later. */
async function readLastPosition(
  questdb: QuestdbSql,
  deviceId: string,
  { beforeMs, receivedBeforeMs }: { beforeMs: number; receivedBeforeMs: number },
): Promise<StoredPosition | undefined> {
  const rows = await questdb.queryArrays<[number, number, number]>(
    `SELECT ts, lat, lon FROM location
      WHERE device_id = $1 AND ts < $2 AND received_at < $3 AND usable ORDER BY ts DESC LIMIT 1`,
    [deviceId, timestampParameter(beforeMs), timestampParameter(receivedBeforeMs)],
  )
  const [row] = rows
  return row && { tsMs: row[0], lat: row[1], lon: row[2] }
}

/** The last dwell of a device. `open`: its state when it was written; undefined if it had ended. */
type LastDwell = Pick<StoredDwell, 'arrivedAtMs' | 'lastInsideAtMs' | 'receivedAtMs'> & {
  open: OpenDwellSummary | undefined
}

type LastDwellRow = {
  device_id: string
  ts: number
  received_at: number
  departed_at: number | null
  last_inside_at: number
  // Earlier versions did not store the first fix and the accuracy.
  anchor_lat: number | null
  anchor_lon: number | null
  accuracy_m: number | null
  lat: number
  lon: number
  radius_m: number
  fix_count: string
  gap: boolean
}

/** Returns the last dwell of each device that began in the range. Devices without one are left out. */
export async function readLastDwells(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  range: TimeRange,
): Promise<Map<string, LastDwell>> {
  const { where, values } = trackFilter(deviceIds, range)
  // A device has few dwells in a day, so a sub-query for the conditions costs little.
  const rows = await questdb.query<LastDwellRow>(
    `SELECT device_id, ts, received_at, departed_at, last_inside_at, anchor_lat, anchor_lon, accuracy_m, lat, lon, radius_m,
            fix_count, gap
       FROM (SELECT * FROM dwell WHERE ${where} AND NOT withdrawn) LATEST ON ts PARTITION BY device_id`,
    values,
  )
  return new Map(rows.map((row) => [row.device_id, lastDwellOf(row)]))
}

function lastDwellOf(row: LastDwellRow): LastDwell {
  const times = { arrivedAtMs: row.ts, lastInsideAtMs: row.last_inside_at }
  const { departed_at, anchor_lat: anchorLat, anchor_lon: anchorLon, accuracy_m: accuracyM } = row
  const isOpen = departed_at === null && anchorLat !== null && anchorLon !== null && accuracyM !== null
  const { lat, lon, radius_m: radiusM, fix_count: fixCount, gap } = row
  return {
    ...times,
    receivedAtMs: row.received_at,
    open: isOpen
      ? { ...times, anchorLat, anchorLon, accuracyM, lat, lon, radiusM, fixCount: Number(fixCount), gap }
      : undefined,
  }
}
