import { idList, idQuery } from '#questdb/server/id-list'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { type Kind, kinds } from '#telemetry/report/fields'
import { sourceOf } from '#telemetry/report/sources'
import { tables } from '#telemetry/rows/tables'

const hourMs = 3_600_000

/**
 * The newest stored sample time of each device and kind since `sinceMs`, from reports received before
 * `receivedBeforeMs`. Devices and kinds without one are left out.
 */
export async function readNewestTimes(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  range: { sinceMs: number; receivedBeforeMs: number },
): Promise<{ deviceId: string; kind: Kind; tsMs: number }[]> {
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const rows = await readNewestOfKind(questdb, kind, deviceIds, range)
      return rows.map(([deviceId, tsMs]) => ({ deviceId, kind, tsMs }))
    }),
  )
  return found.flat()
}

async function readNewestOfKind(
  questdb: QuestdbSql,
  kind: Kind,
  deviceIds: readonly string[],
  { sinceMs, receivedBeforeMs }: { sinceMs: number; receivedBeforeMs: number },
): Promise<[deviceId: string, tsMs: number][]> {
  const { query, value } = idQuery(deviceIds, 2)
  // QuestDB reads the index of each device backwards and stops at its first row. max(ts) would read a day of rows. A condition
  // on another column must not be next to LATEST ON: QuestDB 9.3.4 then returns rows of other devices, or ends with SIGSEGV
  // (https://github.com/questdb/questdb/pull/7334).
  const newest = await questdb.queryArrays<[string, number, number]>(
    `SELECT device_id, ts, received_at FROM ${kind} WHERE ts > $1 AND device_id IN (${query})
      LATEST ON ts PARTITION BY device_id`,
    [timestampParameter(sinceMs), value],
  )
  const [before, later] = [[], []] as [[string, number][], [string, number][]]
  for (const [deviceId, tsMs, receivedAtMs] of newest)
    (receivedAtMs < receivedBeforeMs ? before : later).push([deviceId, tsMs])
  if (later.length === 0) return before
  // The newest row of these is one of a report that is processed again. The one before it is rarely much older.
  const recentMs = Math.max(sinceMs, Math.min(...later.map(([, tsMs]) => tsMs)) - hourMs)
  const ids = later.map(([deviceId]) => deviceId)
  const recent = await readLatestOf(questdb, kind, ids, { sinceMs: recentMs, receivedBeforeMs })
  const found = new Set(recent.map(([deviceId]) => deviceId))
  const rest = ids.filter((deviceId) => !found.has(deviceId))
  const older = rest.length > 0 ? await readLatestOf(questdb, kind, rest, { sinceMs, receivedBeforeMs }) : []
  return [...before, ...recent, ...older]
}

/** Reads all rows in the range, unlike LATEST ON. */
async function readLatestOf(
  questdb: QuestdbSql,
  kind: Kind,
  deviceIds: readonly string[],
  { sinceMs, receivedBeforeMs }: { sinceMs: number; receivedBeforeMs: number },
): Promise<[deviceId: string, tsMs: number][]> {
  const { list, ids } = idList(deviceIds, 3)
  return questdb.queryArrays<[string, number]>(
    `SELECT device_id, max(ts) FROM ${kind} WHERE ts > $1 AND received_at < $2 AND device_id IN (${list})`,
    [timestampParameter(sinceMs), timestampParameter(receivedBeforeMs), ...ids],
  )
}

/** The time and the source of a stored sample. */
export type SampleKey = [tsMs: number, source: string]

type SampleColumns = [tsMs: number, modem?: string | null, uplink?: string | null]

const sampleColumns = (kind: Kind) => ['ts', ...tables[kind].sourceColumns].join(', ')

const sampleKey = ([tsMs, modem = null, uplink = null]: SampleColumns): SampleKey => [tsMs, sourceOf(modem, uplink)]

/** Which of a device's samples between two moments (both included) are stored, from reports received before. */
export async function readStoredTimes(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  { fromMs, toMs, receivedBeforeMs }: { fromMs: number; toMs: number; receivedBeforeMs: number },
): Promise<SampleKey[]> {
  const rows = await questdb.queryArrays<SampleColumns>(
    `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE device_id = $1 AND ts >= $2 AND ts <= $3 AND received_at < $4`,
    [deviceId, timestampParameter(fromMs), timestampParameter(toMs), timestampParameter(receivedBeforeMs)],
  )
  return rows.map(sampleKey)
}

/** Which of the samples with these times of a device are stored, from reports received before a time. For times far apart. */
export async function readStoredAmong(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  { times, receivedBeforeMs }: { times: readonly number[]; receivedBeforeMs: number },
): Promise<SampleKey[]> {
  // QuestDB reads a list with one time as an interval, so the first time is repeated.
  const list = [...times, ...times.slice(0, 1)].map((tsMs) => `'${timestampParameter(tsMs)}'`).join(', ')
  const rows = await questdb.queryArrays<SampleColumns>(
    `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE device_id = $1 AND ts IN (${list}) AND received_at < $2`,
    [deviceId, timestampParameter(receivedBeforeMs)],
  )
  return rows.map(sampleKey)
}
