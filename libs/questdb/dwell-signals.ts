import type { DwellRow } from '#questdb/dwells'
import { type QuestdbSql, timestampParameter } from '#questdb/sql'
import { nearestRank } from '#telemetry/coverage'
import type { DwellSignal } from '#telemetry/dwell-signal'

export type DwellSignals = {
  /** The signal of each dwell, by dwell id; an ongoing one until `toMs`. */
  read(dwells: readonly DwellRow[], toMs: number): Promise<Map<string, DwellSignal>>
}

const maxKept = 50_000
const keptMs = 60_000
const atOnce = 4

/** Reads dwells' signals, each for a minute at most once: late data may still change those that are over. */
export function createDwellSignals(questdb: QuestdbSql): DwellSignals {
  const kept = new Map<string, { signal: Promise<DwellSignal>; readAtMs: number }>()

  const read = (dwell: DwellRow, toMs: number): Promise<DwellSignal> => {
    const key = `${dwell.organizationId} ${dwell.id} ${dwell.departedAtMs}`
    const known = kept.get(key)
    if (known && known.readAtMs > toMs - keptMs) return known.signal
    if (kept.size >= maxKept) kept.clear()
    const signal = readSignal(questdb, dwell, dwell.departedAtMs ?? toMs)
    kept.set(key, { signal, readAtMs: toMs })
    signal.catch(() => kept.delete(key))
    return signal
  }

  return {
    async read(dwells, toMs) {
      const signals = new Map<string, DwellSignal>()
      const left = dwells.values()
      const worker = async () => {
        for (const dwell of left) signals.set(dwell.id, await read(dwell, toMs))
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      return signals
    },
  }
}

async function readSignal(questdb: QuestdbSql, dwell: DwellRow, toMs: number): Promise<DwellSignal> {
  const during = 'FROM cellular WHERE device_id = $1 AND org_id = $2 AND ts >= $3 AND ts <= $4'
  const values = [dwell.deviceId, dwell.organizationId, timestampParameter(dwell.arrivedAtMs), timestampParameter(toMs)]
  const [bins, [silent]] = await Promise.all([
    questdb.queryArrays<[number | null, number | null, string]>(
      `SELECT floor(rsrp_dbm + 0.5) rsrp, floor(sinr_db + 0.5) sinr, count() samples ${during}
       AND (rat IS NULL OR rat != 'none') GROUP BY rsrp, sinr`,
      values,
    ),
    questdb.queryArrays<[string | null]>(
      `SELECT sum(next_us - us) FROM (
         SELECT ts::long us, rat, lead(ts::long) OVER (ORDER BY ts) next_us ${during}
       ) WHERE rat = 'none'`,
      values,
    ),
  ])
  return {
    rsrpP50Dbm: median(bins.map(([rsrp, , samples]) => [rsrp, Number(samples)])),
    sinrP50Db: median(bins.map(([, sinr, samples]) => [sinr, Number(samples)])),
    noServiceS: Number(silent?.[0] ?? 0) / 1_000_000,
  }
}

function median(counted: readonly (readonly [bin: number | null, samples: number])[]): number | null {
  const histogram = new Map<number, number>()
  for (const [bin, samples] of counted) if (bin !== null) histogram.set(bin, (histogram.get(bin) ?? 0) + samples)
  return nearestRank(histogram, 0.5)
}
