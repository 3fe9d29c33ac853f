import type { QuestdbSql } from '#questdb/server/sql'
import { type Kind, kinds } from '#telemetry/report/fields'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'
import { type StoredSample, sampleColumns, storedSample } from './records.ts'

// The longest history of a plan, and a little more because rows expire by whole days.
const retentionMs = 400 * 86_400_000

/**
 * The newest sample of each kind by sample time within the ranges, null where there is none; for `location` the newest
 * usable fix. `newestMs` bounds the search from above: nothing was measured later.
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

// QuestDB reads the device's index backwards and stops at the first row, without opening older partitions.
async function latestOfKind(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
): Promise<StoredSample | undefined> {
  const owned = ownedRows(deviceId, ranges)
  if (!owned) return undefined
  const usable = kind === 'location' ? ' AND usable' : ''
  const [row] = await questdb.queryArrays(
    `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${owned.text}${usable} ORDER BY ts DESC LIMIT 1`,
    owned.values,
  )
  return row && storedSample(kind, row)
}
