import { clipRanges, type OwnedRange, ownedRows } from '#questdb/owned-rows'
import { type StoredSample, sampleColumns, storedSample } from '#questdb/records'
import type { QuestdbSql } from '#questdb/sql'
import { type Kind, kinds } from '#telemetry/fields'

const dayMs = 86_400_000

// A router's newest sample is nearly always of today; only a kind that was not found there is sought further back.
const lookBackMs = [dayMs, 8 * dayMs, 400 * dayMs]

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
  const endMs = Math.min(newestMs, Math.max(...ranges.map((range) => range.toMs)))
  const found = await Promise.all(kinds.map((kind) => latestOfKind(questdb, kind, deviceId, ranges, endMs)))
  return Object.fromEntries(kinds.map((kind, index) => [kind, found[index] ?? null])) as Record<
    Kind,
    StoredSample | null
  >
}

async function latestOfKind(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
  newestMs: number,
): Promise<StoredSample | undefined> {
  let upToMs = newestMs
  for (const depthMs of lookBackMs) {
    const fromMs = newestMs - depthMs
    const owned = ownedRows(deviceId, clipRanges(ranges, fromMs, upToMs))
    upToMs = fromMs
    if (!owned) continue
    const usable = kind === 'location' ? ' AND usable' : ''
    const [row] = await questdb.queryArrays(
      `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${owned.text}${usable} ORDER BY ts DESC LIMIT 1`,
      owned.values,
    )
    if (row) return storedSample(kind, row)
  }
  return undefined
}
