import type { QuestdbSql } from '#questdb/server/sql'
import { type Kind, kinds } from '#telemetry/report/fields'
import { completedWithinMs, completeSample } from './completed.ts'
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
  const [first, ...rows] = await read(owned, usualRows)
  if (!first) return undefined
  const newest = storedSample(kind, first)
  const last = rows.at(-1)
  const oldestMs = last ? storedSample(kind, last).tsMs : newest.tsMs
  const fromMs = newest.tsMs - completedWithinMs
  const others = rows.length === usualRows - 1 ? ownedRows(deviceId, clipRanges(ranges, fromMs, oldestMs)) : undefined
  const earlier = others ? [...rows, ...(await read(others, maxRows))] : rows
  // Only those that are young enough are converted.
  return completeSample(
    newest,
    earlier.values().map((row) => storedSample(kind, row)),
  )
}

/** Enough for ten samples a second. */
const maxRows = 1_200
