import type { QuestdbSql } from '#questdb/server/sql'
import { type Kind, kinds } from '#telemetry/report/fields'
import { completedWithinMs, completeSample } from './completed.ts'
import { newestOf } from './modems.ts'
import { type Condition, clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'
import { type StoredSample, sampleColumns, storedSample } from './records.ts'

// The longest history of a plan, and a little more because rows expire by whole days.
const retentionMs = 400 * 86_400_000

/**
 * The newest sample of each kind by sample time within the ranges, null where there is none; for `location` the newest
 * usable fix. Fields that it lacks are those of samples up to two minutes older. `newestMs` bounds the search from above:
 * nothing was measured later.
 */
export async function latestSamples(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  newestMs: number,
): Promise<Record<Kind, StoredSample | null>> {
  const kept = clipRanges(ranges, newestMs - retentionMs, newestMs)
  const found = await Promise.all(kinds.map((kind) => latestOfKind(questdb, kind, deviceId, kept)))
  return Object.fromEntries(kinds.map((kind, index) => [kind, found[index] ?? null])) as Record<
    Kind,
    StoredSample | null
  >
}

/** Most routers report a kind once a minute: these rows go beyond the time that completes a sample. A row has some 40 values to read. */
const usualRows = 4

// QuestDB reads the device's index backwards and stops at the last row, without opening older partitions.
async function latestOfKind(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
): Promise<StoredSample | undefined> {
  const owned = ownedRows(deviceId, ranges)
  if (!owned) return undefined
  const usable = kind === 'location' ? ' AND usable' : ''
  const read = async ({ text, values }: Condition, limit: number) => {
    const query = `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${text}${usable} ORDER BY ts DESC LIMIT ${limit}`
    return questdb.queryArrays(query, values)
  }
  const rows = await read(owned, usualRows)
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last) return undefined
  const [newestMs, oldestMs] = [timeOf(first), timeOf(last)]
  // More rows can have the time of the last one.
  const from = clipRanges(ranges, newestMs - completedWithinMs, oldestMs + 1)
  const others = rows.length === usualRows ? ownedRows(deviceId, from) : undefined
  const young = others ? [...rows.filter((row) => timeOf(row) > oldestMs), ...(await read(others, maxRows))] : rows
  const simultaneous = young.filter((row) => timeOf(row) === newestMs).map((row) => storedSample(kind, row))
  const newest = newestOf(simultaneous)
  // Only those that are young enough are converted.
  const earlier = young.values().drop(simultaneous.length)
  return newest
    ? completeSample(
        newest,
        earlier.map((row) => storedSample(kind, row)),
      )
    : undefined
}

const timeOf = ([tsMs]: readonly unknown[]): number => tsMs as number

/** Enough for ten samples a second. */
const maxRows = 1_200
