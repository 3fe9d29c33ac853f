import type { QuestdbSql } from '#questdb/server/sql'
import type { ServiceTime } from '#telemetry/coverage/service-times'
import { type OwnedRange, ownedRows } from './owned-rows.ts'

/**
 * A time in which a modem had service, or none. It ends with the first sample of the other kind, or with the last one before a
 * silence. The position is the last known one where it began; null if none is known.
 */
export type ModemServiceTime = ServiceTime & { modem: string | null; lat: number | null; lon: number | null }

/** What happened during a longer silence is unknown. */
const silenceS = 300

/** Most times that are read: those that ended last. */
const maxTimes = 20_000

const ofModem = 'OVER (PARTITION BY modem ORDER BY ts)'

/**
 * The times with and without service of each modem, from the device's rows in the ranges, those that ended last first. `fromMs`: from
 * then on they are complete.
 */
export async function modemTimes(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
): Promise<{ fromMs: number; times: ModemServiceTime[] }> {
  const owned = ownedRows(deviceId, ranges)
  if (!owned) return { fromMs: 0, times: [] }
  // `lost` is 1 after a sample without service, 0 after one with it, and -1 after a silence. The times of a modem are numbered.
  const rows = await questdb.queryArrays<[string | null, number, number, number, number | null, number | null]>(
    `WITH seen AS (
       SELECT ts, modem, lag(ts) ${ofModem} last_ts, lag(CASE WHEN rat = 'none' THEN 1.0 ELSE 0.0 END) ${ofModem} last_lost,
         lag(aligned_lat) IGNORE NULLS ${ofModem} lat, lag(aligned_lon) IGNORE NULLS ${ofModem} lon
       FROM cellular WHERE ${owned.text}
     ), judged AS (
       SELECT ts, modem, last_ts, lat, lon,
         CASE WHEN last_ts IS NOT NULL AND datediff('s', last_ts, ts) <= ${silenceS} THEN last_lost ELSE -1.0 END lost FROM seen
     ), begun AS (
       SELECT ts, modem, last_ts, lat, lon, lost,
         CASE WHEN lost >= 0.0 AND coalesce(lag(lost) ${ofModem}, -1.0) != lost THEN 1.0 ELSE 0.0 END begins FROM judged
     ), numbered AS (
       SELECT ts, modem, last_ts, lat, lon, lost, begins,
         sum(begins) OVER (PARTITION BY modem ORDER BY ts ROWS UNBOUNDED PRECEDING) number FROM begun
     )
     SELECT modem, lost, min(last_ts), max(ts) ended, max(CASE WHEN begins = 1.0 THEN lat END),
       max(CASE WHEN begins = 1.0 THEN lon END)
     FROM numbered WHERE lost >= 0.0 GROUP BY modem, lost, number ORDER BY ended DESC LIMIT ${maxTimes}`,
    owned.values,
  )
  const times = rows.map(([modem, lost, fromMs, toMs, lat, lon]) => ({
    ...{ modem, hasService: lost === 0, fromMs, toMs, lat, lon },
  }))
  return { fromMs: rows.length < maxTimes ? 0 : (times.at(-1)?.toMs ?? 0), times }
}
