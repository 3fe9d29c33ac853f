import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import type { TimeRange } from '#telemetry/position/device-alignment'
import { bySimTime, type StoredService } from '#telemetry/position/lost-operator'

const dayMs = 86_400_000
const farFuture = Date.UTC(2100, 0, 1)

/** The newest row with service of each modem of a device in the day before the range, and the changes of its SIM from then to the end. */
export async function readServices(
  questdb: QuestdbSql,
  deviceId: string,
  { fromMs, toMs }: TimeRange,
): Promise<StoredService[]> {
  const dayBefore = timestampParameter(Math.max(fromMs - dayMs, 0))
  const [served, sims] = await Promise.all([
    questdb.queryArrays<[modem: string | null, tsMs: number, plmn: string]>(
      `SELECT modem, max(ts), last(plmn) FROM (
         SELECT ts, modem, plmn FROM cellular
         WHERE device_id = $1 AND ts >= $2 AND ts < $3 AND plmn IS NOT NULL AND (rat IS NULL OR rat != 'none') ORDER BY ts
       ) GROUP BY modem`,
      [deviceId, dayBefore, timestampParameter(Math.max(fromMs, 0))],
    ),
    // A row is a change if the modem's row before it has another SIM. `lag` of QuestDB has times and numbers only.
    questdb.queryArrays<[modem: string | null, iccid: string | null, simSlot: number | null, fromMs: number]>(
      `SELECT modem, iccid, sim_slot, ts FROM (
         SELECT modem, iccid, sim_slot, ts, lag(ts) OVER (PARTITION BY modem ORDER BY ts) modem_ts,
           lag(ts) OVER (PARTITION BY modem, iccid, sim_slot ORDER BY ts) sim_ts
         FROM connection
         WHERE device_id = $1 AND ts >= $2 AND ts <= $3 AND (iccid IS NOT NULL OR sim_slot IS NOT NULL)
       ) WHERE sim_ts IS NULL OR sim_ts != modem_ts`,
      [deviceId, dayBefore, timestampParameter(Math.min(toMs, farFuture))],
    ),
  ])
  const services = new Map<string | null, StoredService>()
  const serviceOf = (modem: string | null): StoredService => {
    const service = services.get(modem) ?? { modem, served: null, sims: [] }
    services.set(modem, service)
    return service
  }
  for (const [modem, tsMs, plmn] of served) serviceOf(modem).served = { tsMs, plmn }
  for (const [modem, iccid, simSlot, firstMs] of sims) serviceOf(modem).sims.push({ fromMs: firstMs, iccid, simSlot })
  for (const { sims: used } of services.values()) used.sort(bySimTime)
  return [...services.values()]
}
