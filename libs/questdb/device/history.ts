import type { QuestdbSql } from '#questdb/server/sql'
import type { Kind } from '#telemetry/report/fields'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'
import { type StoredSample, sampleColumns, storedSample } from './records.ts'

/** The end of a page. The next page has older samples, or later kinds of the same millisecond. */
export type HistoryPosition = { tsMs: number; kind: Kind }

/**
 * At most `limit` samples of these kinds within the ranges, newest first, equal times by kind ascending; after
 * `position` when given.
 */
export async function historyPage(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  query: { kinds: readonly Kind[]; limit: number; position?: HistoryPosition | undefined },
): Promise<StoredSample[]> {
  const { limit, position } = query
  const perKind = await Promise.all(
    query.kinds.map(async (kind) => {
      const owned = ownedRows(deviceId, position ? clipRanges(ranges, 0, endAfter(position, kind)) : ranges)
      if (!owned) return []
      const rows = await questdb.queryArrays(
        `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${owned.text} ORDER BY ts DESC LIMIT $${owned.values.length + 1}`,
        [...owned.values, limit],
      )
      return rows.map((row) => storedSample(kind, row))
    }),
  )
  if (perKind.length === 1) return perKind[0] ?? []
  return perKind.flat().sort(newestFirst).slice(0, limit)
}

/** The exclusive end for one kind: kinds listed after the position's still have their row of that millisecond. */
const endAfter = (position: HistoryPosition, kind: Kind): number =>
  kind > position.kind ? position.tsMs + 1 : position.tsMs

function newestFirst(a: StoredSample, b: StoredSample): number {
  return b.tsMs - a.tsMs || (a.record.kind < b.record.kind ? -1 : 1)
}
