import type { QuestdbSql } from '#questdb/server/sql'
import { type OwnedRange, ownedRows } from './owned-rows.ts'

/**
 * A time in which a modem had no service. It ends with the first sample that has service, or with the last one before a silence.
 * The position is the last known one where it began; null if none is known.
 */
export type ModemOutage = {
  modem: string | null
  fromMs: number
  toMs: number
  lat: number | null
  lon: number | null
}

/** What happened during a longer silence is unknown. */
const silenceS = 300

/** Most outages that are returned: the newest. */
const maxOutages = 1_000

const ofModem = 'OVER (PARTITION BY modem ORDER BY ts)'

/** The times without service of each modem, or of one, from the device's rows in the ranges, newest first. */
export async function modemOutages(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  modem: string | undefined,
): Promise<ModemOutage[]> {
  const owned = ownedRows(deviceId, ranges, modem)
  if (!owned) return []
  // Each sample that follows one without service continues an outage: `lost` is 1. The outages of a modem are numbered.
  const rows = await questdb.queryArrays<[string | null, number, number, number | null, number | null]>(
    `WITH seen AS (
       SELECT ts, modem, lag(ts) ${ofModem} last_ts, lag(CASE WHEN rat = 'none' THEN 1.0 ELSE 0.0 END) ${ofModem} last_lost,
         lag(aligned_lat) IGNORE NULLS ${ofModem} lat, lag(aligned_lon) IGNORE NULLS ${ofModem} lon
       FROM cellular WHERE ${owned.text}
     ), judged AS (
       SELECT ts, modem, last_ts, lat, lon,
         CASE WHEN last_lost = 1.0 AND datediff('s', last_ts, ts) <= ${silenceS} THEN 1.0 ELSE 0.0 END lost FROM seen
     ), begun AS (
       SELECT ts, modem, last_ts, lat, lon, lost,
         CASE WHEN lost = 1.0 AND coalesce(lag(lost) ${ofModem}, 0.0) = 0.0 THEN 1.0 ELSE 0.0 END begins FROM judged
     ), numbered AS (
       SELECT ts, modem, last_ts, lat, lon, lost, begins,
         sum(begins) OVER (PARTITION BY modem ORDER BY ts ROWS UNBOUNDED PRECEDING) outage FROM begun
     )
     SELECT modem, min(last_ts) began, max(ts) ended, max(CASE WHEN begins = 1.0 THEN lat END),
       max(CASE WHEN begins = 1.0 THEN lon END)
     FROM numbered WHERE lost = 1.0 GROUP BY modem, outage ORDER BY began DESC, modem LIMIT ${maxOutages}`,
    owned.values,
  )
  return rows.map(([name, fromMs, toMs, lat, lon]) => ({ modem: name, fromMs, toMs, lat, lon }))
}
