import { isUuid } from '#core/ids'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { type Quality, signalQuality } from '#telemetry/coverage/quality'

/** A point on a device's trail, with the signal of the same step if there was one. */
export type TrailPoint = {
  tsMs: number
  lat: number
  lon: number
  rat: string | null
  rsrpDbm: number | null
  sinrDb: number | null
  quality: Quality | null
}

export type TrailRange = { organizationId: string; fromMs: number; toMs: number; deviceIds: readonly string[] }

const maxPoints = 100_000
const maxPointsPerDevice = 1_000
// Up to this number, rows are read by device index. Above it, by organization, and other devices are dropped.
const maxPicked = 500

type PositionColumns = [deviceId: string, step: number, tsMs: number, lat: number, lon: number]
type SignalColumns = [
  deviceId: string,
  step: number,
  tsMs: number,
  rat: string | null,
  rsrpDbm: number | null,
  sinrDb: number | null,
]

// Maximum time between a point and its signal.
const signalWithinMs = 30_000

/**
 * Returns the devices' trails in the range, oldest point first: the last usable fix of each step. The step is long enough to
 * limit all trails to 100,000 points in total.
 */
export async function deviceTrails(questdb: QuestdbSql, range: TrailRange): Promise<Map<string, TrailPoint[]>> {
  const { deviceIds, organizationId, fromMs, toMs } = range
  const points = Math.min(maxPointsPerDevice, Math.max(2, Math.floor(maxPoints / Math.max(1, deviceIds.length))))
  const stepS = Math.max(1, Math.ceil((toMs - fromMs) / 1_000 / points))
  const step = `timestamp_floor('${stepS}s', ts) step`
  const where = `WHERE org_id = $1 AND ts >= $2 AND ts < $3${pickedBy(deviceIds)}`
  const values = [organizationId, timestampParameter(fromMs), timestampParameter(toMs)]
  const [positions, signals] = await Promise.all([
    questdb.queryArrays<PositionColumns>(
      `SELECT device_id, ${step}, max(ts), last(lat), last(lon) FROM location ${where} AND usable
       GROUP BY device_id, step ORDER BY step`,
      values,
    ),
    questdb.queryArrays<SignalColumns>(
      `SELECT device_id, ${step}, max(ts), last(rat), last(rsrp_dbm), last(sinr_db) FROM cellular ${where}
       GROUP BY device_id, step ORDER BY step`,
      values,
    ),
  ])
  const signalsOf = Map.groupBy(signals, ([deviceId]) => deviceId)
  const trails = new Map<string, TrailPoint[]>(deviceIds.map((deviceId) => [deviceId, []]))
  for (const [deviceId, ways] of Map.groupBy(positions, ([id]) => id)) {
    trails
      .get(deviceId)
      ?.push(...withSignals(ways, signalsOf.get(deviceId) ?? [], Math.max(signalWithinMs, stepS * 1_000)))
  }
  return trails
}

const pickedBy = (deviceIds: readonly string[]): string => {
  if (deviceIds.length > maxPicked) return ''
  const literals = deviceIds.filter(isUuid).map((deviceId) => `'${deviceId}'`)
  return ` AND device_id IN (${literals.join(', ') || 'null'})`
}

/** Both lists in order of time, so that one walk through them finds each point's nearest signal. */
function withSignals(
  ways: readonly PositionColumns[],
  signals: readonly SignalColumns[],
  withinMs: number,
): TrailPoint[] {
  let at = 0
  return ways.map(([, , tsMs, lat, lon]) => {
    const distance = (index: number) => Math.abs((signals[index]?.[2] ?? Number.POSITIVE_INFINITY) - tsMs)
    while (distance(at + 1) <= distance(at) && at + 1 < signals.length) at++
    const [, , , rat = null, rsrpDbm = null, sinrDb = null] = (distance(at) <= withinMs && signals[at]) || []
    return { tsMs, lat, lon, rat, rsrpDbm, sinrDb, quality: signalQuality({ rat, rsrpDbm, sinrDb }).quality }
  })
}
