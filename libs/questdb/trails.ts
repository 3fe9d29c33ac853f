import { isUuid } from '#core/ids'
import { type QuestdbSql, timestampParameter } from '#questdb/sql'
import { type Quality, signalQuality } from '#telemetry/quality'

/** A place on a device's way, and the signal of the same step where there was one. */
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
// Up to here ids pick their rows by the index; beyond, the organization's rows are read and others dropped.
const maxPicked = 500

type PositionColumns = [deviceId: string, step: number, tsMs: number, lat: number, lon: number]
type SignalColumns = [deviceId: string, step: number, rat: string | null, rsrpDbm: number | null, sinrDb: number | null]

/**
 * The devices' ways through the range, oldest point first: the last usable fix of each step. Steps are as long as it
 * takes to keep all trails together within 100,000 points.
 */
export async function deviceTrails(questdb: QuestdbSql, range: TrailRange): Promise<Map<string, TrailPoint[]>> {
  const { deviceIds, organizationId, fromMs, toMs } = range
  const points = Math.min(maxPointsPerDevice, Math.max(2, Math.floor(maxPoints / Math.max(1, deviceIds.length))))
  const step = `timestamp_floor('${Math.max(1, Math.ceil((toMs - fromMs) / 1_000 / points))}s', ts) step`
  const picked =
    deviceIds.length <= maxPicked
      ? ` AND device_id IN (${
          deviceIds
            .filter(isUuid)
            .map((id) => `'${id}'`)
            .join(', ') || 'null'
        })`
      : ''
  const where = `WHERE org_id = $1 AND ts >= $2 AND ts < $3${picked}`
  const values = [organizationId, timestampParameter(fromMs), timestampParameter(toMs)]
  const [positions, signals] = await Promise.all([
    questdb.queryArrays<PositionColumns>(
      `SELECT device_id, ${step}, max(ts), last(lat), last(lon) FROM location ${where} AND usable
       GROUP BY device_id, step ORDER BY step`,
      values,
    ),
    questdb.queryArrays<SignalColumns>(
      `SELECT device_id, ${step}, last(rat), last(rsrp_dbm), last(sinr_db) FROM cellular ${where} GROUP BY device_id, step`,
      values,
    ),
  ])
  const signalOf = new Map(signals.map((signal) => [`${signal[0]} ${signal[1]}`, signal]))
  const trails = new Map<string, TrailPoint[]>(deviceIds.map((deviceId) => [deviceId, []]))
  for (const [deviceId, stepMs, tsMs, lat, lon] of positions) {
    const [, , rat = null, rsrpDbm = null, sinrDb = null] = signalOf.get(`${deviceId} ${stepMs}`) ?? []
    const { quality } = signalQuality({ rat, rsrpDbm, sinrDb })
    trails.get(deviceId)?.push({ tsMs, lat, lon, rat, rsrpDbm, sinrDb, quality })
  }
  return trails
}
