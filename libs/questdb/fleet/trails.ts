import { isUuid } from '#core/ids'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { type Quality, signalQuality } from '#telemetry/coverage/quality'
import { connectedWithinMs } from '#telemetry/rows/active-modem'
import { activeSignals, type StepConnection, type StepSignal } from './trail-signals.ts'

/** A point on a device's trail, with the signal of the modem that was active then, if there was one at about that time. */
export type TrailPoint = {
  tsMs: number
  lat: number
  lon: number
  modem: string | null
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
  modem: string | null,
  servedMs: number | null,
  rat: string | null,
  rsrpDbm: number | null,
  sinrDb: number | null,
  rssiDbm: number | null,
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
      `SELECT device_id, ${step}, max(ts), modem, max(CASE WHEN rat = 'none' THEN null ELSE ts END),
         last(rat), last(rsrp_dbm), last(sinr_db), last(rssi_dbm)
       FROM cellular ${where} GROUP BY device_id, step, modem ORDER BY step`,
      values,
    ),
  ])
  const connectionsOf = await readConnections(questdb, signals, range, step)
  const signalsOf = Map.groupBy(signals, ([deviceId]) => deviceId)
  const withinMs = Math.max(signalWithinMs, stepS * 1_000)
  const trails = new Map<string, TrailPoint[]>(deviceIds.map((deviceId) => [deviceId, []]))
  for (const [deviceId, ways] of Map.groupBy(positions, ([id]) => id)) {
    const own = (signalsOf.get(deviceId) ?? []).map(stepSignal)
    const times = ways.map(([, , tsMs]) => tsMs)
    const found = activeSignals(times, own, connectionsOf.get(deviceId) ?? [], withinMs)
    trails.get(deviceId)?.push(...ways.map((way, index) => trailPoint(way, found[index])))
  }
  return trails
}

const pickedBy = (deviceIds: readonly string[]): string => {
  if (deviceIds.length > maxPicked) return ''
  const literals = deviceIds.filter(isUuid).map((deviceId) => `'${deviceId}'`)
  return ` AND device_id IN (${literals.join(', ') || 'null'})`
}

/** When the named modems of these devices were connected. A device that names none needs no choice between modems. */
async function readConnections(
  questdb: QuestdbSql,
  signals: readonly SignalColumns[],
  { organizationId, fromMs, toMs }: TrailRange,
  step: string,
): Promise<Map<string, StepConnection[]>> {
  const naming = new Set(signals.flatMap(([deviceId, , , modem]) => (modem === null ? [] : [deviceId])))
  if (naming.size === 0) return new Map()
  const rows = await questdb.queryArrays<[deviceId: string, step: number, tsMs: number, modem: string]>(
    `SELECT device_id, ${step}, max(ts), modem FROM connection
     WHERE org_id = $1 AND ts >= $2 AND ts < $3${pickedBy([...naming])} AND state = 'connected' AND modem IS NOT NULL
     GROUP BY device_id, step, modem ORDER BY step`,
    [organizationId, timestampParameter(fromMs - connectedWithinMs), timestampParameter(toMs)],
  )
  const connections = Map.groupBy(rows, ([deviceId]) => deviceId)
  return new Map([...connections].map(([id, own]) => [id, own.map(([, , tsMs, modem]) => ({ tsMs, modem }))]))
}

const stepSignal = ([, , tsMs, modem, servedMs, rat, rsrpDbm, sinrDb, rssiDbm]: SignalColumns): StepSignal => ({
  ...{ tsMs, modem, servedMs, rat, rsrpDbm, sinrDb, rssiDbm },
})

function trailPoint([, , tsMs, lat, lon]: PositionColumns, signal: StepSignal | undefined): TrailPoint {
  const { modem = null, rat = null, rsrpDbm = null, sinrDb = null } = signal ?? {}
  const quality = signal ? signalQuality(signal).quality : null
  return { tsMs, lat, lon, modem, rat, rsrpDbm, sinrDb, quality }
}
