import { addTo } from '#core/counts'
import { throwIfClosed } from '#core/errors'
import { createSharedReads } from '#core/shared-reads'
import type { Reader } from '#questdb/copies/readers'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { nearestRank } from '#telemetry/coverage/coverage'
import { type DwellSignal, noServiceMs } from '#telemetry/coverage/dwell-signal'
import type { StoredDwellRow } from './dwells.ts'

/** A dwell, or another time of a device. `id` tells it from all others. */
export type SignalledStretch = Pick<
  StoredDwellRow,
  'id' | 'deviceId' | 'organizationId' | 'arrivedAtMs' | 'departedAtMs'
>

export type DwellSignals = {
  /** The signal of each dwell, by dwell id; an ongoing one until `toMs`. */
  read(reader: Reader, dwells: readonly SignalledStretch[], toMs: number): Promise<Map<string, DwellSignal>>
}

/** `version`: the version of the table at the time of reading, or an older one. */
type VersionedSignal = { signal: DwellSignal; version: string; readMs: number }

const maxKept = 50_000
const longestLifeMs = 10 * 60_000
const atOnce = 4
// While rows arrive, a signal is read again after this multiple of its reading time, so that reading takes at most a
// twentieth of the time. Reading the signal of an ordinary dwell takes milliseconds.
const lifePerCost = 20
const longestStaleMs = 10_000

/** Reads the signals of dwells and caches them until rows arrive that may change them. */
export function createDwellSignals(): DwellSignals {
  const clock = () => performance.now()
  const signals = createSharedReads<VersionedSignal>({
    clock,
    maxSize: maxKept,
    agesOf: (_signal, startedMs, endedMs) => ({
      freshUntilMs: startedMs + Math.min(longestStaleMs, (endedMs - startedMs) * lifePerCost),
    }),
  })

  const read = async (reader: Reader, version: string, dwell: SignalledStretch, toMs: number): Promise<DwellSignal> => {
    const key = `${dwell.organizationId} ${dwell.id} ${dwell.departedAtMs}`
    const { signal } = await signals.read(key, async (_abandoned, before) => {
      if (before?.version === version && clock() - before.readMs < longestLifeMs) return before
      // Other callers may wait for the same result.
      const found = await readSignal(reader.detached().questdb, dwell, dwell.departedAtMs ?? toMs)
      return { signal: found, version, readMs: clock() }
    })
    return signal
  }

  return {
    async read(reader, dwells, toMs) {
      const found = new Map<string, DwellSignal>()
      if (dwells.length === 0) return found
      const version = await cellularVersion(reader)
      const left = dwells.values()
      const worker = async () => {
        for (const dwell of left) {
          throwIfClosed(reader.signal)
          found.set(dwell.id, await read(reader, version, dwell, toMs))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      return found
    },
  }
}

/** Returns a version that changes when new RF rows become visible. Each copy counts its own transactions. */
async function cellularVersion({ questdb, copy }: Reader): Promise<string> {
  const [row] = await questdb.queryArrays<[string]>(`SELECT "writerTxn" FROM wal_tables() WHERE name = 'cellular'`)
  return `${copy.name} ${row?.[0] ?? ''}`
}

async function readSignal(questdb: QuestdbSql, dwell: SignalledStretch, toMs: number): Promise<DwellSignal> {
  const during = 'FROM cellular WHERE device_id = $1 AND org_id = $2 AND ts >= $3 AND ts <= $4'
  const values = [dwell.deviceId, dwell.organizationId, timestampParameter(dwell.arrivedAtMs), timestampParameter(toMs)]
  const [bins, stretches] = await Promise.all([
    questdb.queryArrays<[number | null, number | null, string]>(
      `SELECT floor(rsrp_dbm + 0.5) rsrp, floor(sinr_db + 0.5) sinr, count() samples ${during}
       AND (rat IS NULL OR rat != 'none') GROUP BY rsrp, sinr`,
      values,
    ),
    // From each change of a modem's service to the next, or to its last sample.
    questdb.queryArrays<[fromUs: string, toUs: string, dark: number]>(
      `SELECT us, coalesce(lead(us) OVER (PARTITION BY modem ORDER BY ts), last_us) to_us, dark FROM (
         SELECT ts, us, modem, dark, max(us) OVER (PARTITION BY modem) last_us,
                lag(dark) OVER (PARTITION BY modem ORDER BY ts) before
         FROM (SELECT ts, ts::long us, modem, CASE WHEN rat = 'none' THEN 1 ELSE 0 END dark ${during})
       ) WHERE before IS NULL OR before != dark`,
      values,
    ),
  ])
  return {
    rsrpP50Dbm: median(bins.map(([rsrp, , samples]) => [rsrp, Number(samples)])),
    sinrP50Db: median(bins.map(([, sinr, samples]) => [sinr, Number(samples)])),
    noServiceS:
      noServiceMs(
        stretches.map(([fromUs, toUs, dark]) => ({
          fromMs: Number(fromUs) / 1_000,
          toMs: Number(toUs) / 1_000,
          isServed: dark === 0,
        })),
      ) / 1_000,
  }
}

function median(counted: readonly (readonly [bin: number | null, samples: number])[]): number | null {
  const histogram = new Map<number, number>()
  for (const [bin, samples] of counted) if (bin !== null) addTo(histogram, bin, samples)
  return nearestRank(histogram, 0.5)
}
