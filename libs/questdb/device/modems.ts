import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { activeModem, connectedWithinMs } from '#telemetry/rows/active-modem'
import { completedWithinMs, completeSample } from './completed.ts'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'
import { recordSource, type StoredSample, sampleColumns, storedSample } from './records.ts'

/** The newest samples of one modem of a device. */
export type ModemSamples = {
  modem: string | null
  isActive: boolean
  cellular: StoredSample | null
  connection: StoredSample | null
}

const dayMs = 86_400_000

/** Returns whether a sample of the 24 hours before `nowMs` names its modem. */
export async function namesModems(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { nowMs, newestMs }: { nowMs: number; newestMs: number },
): Promise<boolean> {
  const owned = ownedRows(deviceId, clipRanges(ranges, nowMs - dayMs, newestMs))
  if (!owned) return false
  // Few devices name their modem: as the first condition, it halves the time.
  const named = (kind: 'cellular' | 'connection') =>
    `SELECT * FROM (SELECT ts FROM ${kind} WHERE modem IS NOT NULL AND ${owned.text} LIMIT 1)`
  const found = await questdb.queryArrays(`${named('cellular')} UNION ALL ${named('connection')}`, owned.values)
  return found.length > 0
}

/** The modems of a device that reported in the 24 hours before `nowMs`, by name, each with its newest samples. */
export async function modemSamples(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { nowMs, newestMs }: { nowMs: number; newestMs: number },
): Promise<ModemSamples[]> {
  const owned = ownedRows(deviceId, clipRanges(ranges, nowMs - dayMs, newestMs))
  if (!owned) return []
  const { text, values } = owned
  const newest = async (kind: 'cellular' | 'connection', partition: string) => {
    const columns = sampleColumns(kind)
    const rows = await questdb.queryArrays(
      `SELECT ${columns} FROM (SELECT * FROM ${kind} WHERE ${text}) LATEST ON ts PARTITION BY ${partition}`,
      values,
    )
    return Promise.all(rows.map((row) => completed(questdb, kind, deviceId, ranges, storedSample(kind, row))))
  }
  const times = (kind: 'cellular' | 'connection', condition: string, more: string[] = []) =>
    questdb.queryArrays<[modem: string | null, tsMs: number]>(
      `SELECT modem, max(ts) FROM ${kind} WHERE ${text} AND ${condition} GROUP BY modem`,
      [...values, ...more],
    )
  const [cellular, connections, served, connected] = await Promise.all([
    newest('cellular', 'modem'),
    newest('connection', 'modem, interface'),
    times('cellular', "(rat IS NULL OR rat != 'none')"),
    times('connection', `state = 'connected' AND ts >= $${values.length + 1}`, [
      timestampParameter(nowMs - connectedWithinMs),
    ]),
  ])
  const [servedMs, connectedMs] = [new Map(served), new Map(connected)]
  const names = new Set([...cellular, ...connections].map(modemOf))
  const modems = [...names].sort(byName).map((modem) => {
    const ofModem = (samples: readonly StoredSample[]) => samples.filter((sample) => modemOf(sample) === modem)
    const own = { cellular: ofModem(cellular)[0] ?? null, connection: newestOf(ofModem(connections)) }
    return {
      ...{ modem, ...own },
      servedMs: servedMs.get(modem) ?? null,
      connectedMs: connectedMs.get(modem) ?? null,
      newestMs: Math.max(own.cellular?.tsMs ?? 0, own.connection?.tsMs ?? 0),
    }
  })
  const active = activeModem(modems, nowMs)
  return modems.map((reported) => ({
    ...{ modem: reported.modem, isActive: reported === active },
    ...{ cellular: reported.cellular, connection: reported.connection },
  }))
}

/** Enough for ten samples a second. */
const maxEarlier = 1_200

/** The sample with the fields that it lacks, from earlier samples of the same modem and interface. */
async function completed(
  questdb: QuestdbSql,
  kind: 'cellular' | 'connection',
  deviceId: string,
  ranges: readonly OwnedRange[],
  sample: StoredSample,
): Promise<StoredSample> {
  const owned = ownedRows(deviceId, clipRanges(ranges, sample.tsMs - completedWithinMs, sample.tsMs))
  if (!owned) return completeSample(sample, [])
  const rows = await questdb.queryArrays(
    `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${owned.text} ORDER BY ts DESC LIMIT ${maxEarlier}`,
    owned.values,
  )
  return completeSample(
    sample,
    rows.map((row) => storedSample(kind, row)),
  )
}

const modemOf = ({ record }: StoredSample): string | null => (record.modem as string | null | undefined) ?? null

const byName = (a: string | null, b: string | null): number => ((a ?? '') < (b ?? '') ? -1 : 1)

/** Of the interfaces with the newest sample, a connected one. Of several such, the first by name. */
export function newestOf(samples: readonly StoredSample[]): StoredSample | null {
  const isConnected = ({ record }: StoredSample) => (record.state === 'connected' ? 1 : 0)
  const [newest] = [...samples].sort(
    (a, b) =>
      b.tsMs - a.tsMs || isConnected(b) - isConnected(a) || (recordSource(a.record) < recordSource(b.record) ? -1 : 1),
  )
  return newest ?? null
}
