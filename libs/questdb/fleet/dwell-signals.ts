import { LRUCache } from 'lru-cache'
import { addTo } from '#core/counts'
import { throwIfClosed } from '#core/errors'
import type { Reader } from '#questdb/copies/readers'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { nearestRank } from '#telemetry/coverage/coverage'
import type { DwellSignal } from '#telemetry/coverage/dwell-signal'
import type { DwellRow } from './dwells.ts'

export type DwellSignals = {
  /** The signal of each dwell, by dwell id; an ongoing one until `toMs`. */
  read(reader: Reader, dwells: readonly DwellRow[], toMs: number): Promise<Map<string, DwellSignal>>
}

/** `version`: the version of the table at the time of reading, or an older one. `tookMs`: the duration of reading. */
type Kept = { signal: Promise<DwellSignal>; version: string; readAtMs: number; tookMs: number }

const maxKept = 50_000
const longestLifeMs = 10 * 60_000
const atOnce = 4
// While rows arrive, a signal is read again after this multiple of its reading time, so that reading takes at most a
// twentieth of the time. Reading the signal of an ordinary dwell takes milliseconds.
const lifePerCost = 20
const longestStaleMs = 10_000

/** Reads the signals of dwells and caches them until rows arrive that may change them. */
export function createDwellSignals(): DwellSignals {
  const kept = new LRUCache<string, Kept>({ max: maxKept, ttl: longestLifeMs })

  const isCurrent = ({ version, readAtMs, tookMs }: Kept, presentVersion: string): boolean =>
    version === presentVersion || performance.now() - readAtMs < Math.min(longestStaleMs, tookMs * lifePerCost)

  const read = (reader: Reader, version: string, dwell: DwellRow, toMs: number): Promise<DwellSignal> => {
    const key = `${dwell.organizationId} ${dwell.id} ${dwell.departedAtMs}`
    const known = kept.get(key)
    if (known && isCurrent(known, version)) return known.signal
    const readAtMs = performance.now()
    // Other callers may wait for the same result.
    const signal = readSignal(reader.detached().questdb, dwell, dwell.departedAtMs ?? toMs)
    const entry: Kept = { signal, version, readAtMs, tookMs: 0 }
    kept.set(key, entry)
    signal.then(
      () => {
        entry.tookMs = performance.now() - readAtMs
      },
      () => kept.delete(key),
    )
    return signal
  }

  return {
    async read(reader, dwells, toMs) {
      const signals = new Map<string, DwellSignal>()
      if (dwells.length === 0) return signals
      const version = await cellularVersion(reader)
      const left = dwells.values()
      const worker = async () => {
        for (const dwell of left) {
          throwIfClosed(reader.signal)
          signals.set(dwell.id, await read(reader, version, dwell, toMs))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      return signals
    },
  }
}

/** Returns a version that changes when new RF rows become visible. Each copy counts its own transactions. */
async function cellularVersion({ questdb, copy }: Reader): Promise<string> {
  const [row] = await questdb.queryArrays<[string]>(`SELECT "writerTxn" FROM wal_tables() WHERE name = 'cellular'`)
  return `${copy.name} ${row?.[0] ?? ''}`
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
  for (const [bin, samples] of counted) if (bin !== null) addTo(histogram, bin, samples)
  return nearestRank(histogram, 0.5)
}
