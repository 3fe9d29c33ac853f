import type { QuestdbSql } from '#questdb/server/sql'
import type { Kind } from '#telemetry/report/fields'
import { tables } from '#telemetry/rows/tables'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'
import { recordSource, type StoredSample, sampleColumns, storedSample } from './records.ts'

/**
 * The end of a page. The next page has older samples, or later kinds and sources of the same millisecond. Cursors of earlier
 * versions have no source.
 */
export type HistoryPosition = { tsMs: number; kind: Kind; source?: string }

type PageQuery = {
  kinds: readonly Kind[]
  limit: number
  modem?: string | undefined
  position?: HistoryPosition | undefined
}

/**
 * At most `limit` samples of these kinds within the ranges, newest first, equal times by kind, modem and interface ascending;
 * after `position` when given.
 */
export async function historyPage(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  query: PageQuery,
): Promise<StoredSample[]> {
  const perKind = await Promise.all(
    query.kinds.map((kind) =>
      tables[kind].sourceColumns.length === 0
        ? readRows(questdb, kind, deviceId, before(ranges, query, kind), query)
        : readSources(questdb, kind, deviceId, ranges, query),
    ),
  )
  if (perKind.length === 1) return (perKind[0] ?? []).slice(0, query.limit)
  return perKind.flat().sort(newestFirst).slice(0, query.limit)
}

async function readRows(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { modem, limit }: { modem?: string | undefined; limit?: number },
): Promise<StoredSample[]> {
  const owned = ownedRows(deviceId, ranges, modem)
  if (!owned) return []
  const atMost = limit === undefined ? '' : `LIMIT $${owned.values.length + 1}`
  const rows = await questdb.queryArrays(
    `SELECT ${sampleColumns(kind)} FROM ${kind} WHERE ${owned.text} ORDER BY ts DESC ${atMost}`,
    limit === undefined ? owned.values : [...owned.values, limit],
  )
  return rows.map((row) => storedSample(kind, row))
}

/**
 * Rows of one millisecond come in any order from the database, so a millisecond at the end of a page is read as a whole. Sorting
 * in the database would read all rows of the window.
 */
async function readSources(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
  query: PageQuery,
): Promise<StoredSample[]> {
  const { limit, modem, position } = query
  const at = (tsMs: number) =>
    readRows(questdb, kind, deviceId, clipRanges(ranges, tsMs, tsMs + 1), modem === undefined ? {} : { modem })
  const { source } = position ?? {}
  const isWithin = position?.kind === kind && source !== undefined
  const rest = isWithin ? (await at(position.tsMs)).filter(({ record }) => recordSource(record) > source) : []
  const older = await readRows(questdb, kind, deviceId, before(ranges, query, kind), { modem, limit: limit + 1 })
  // One more row tells, without another query, that the millisecond is whole.
  const [last, next] = older.slice(limit - 1)
  const isCut = last !== undefined && last.tsMs === next?.tsMs
  const whole = isCut
    ? [...older.filter(({ tsMs }) => tsMs > last.tsMs), ...(await at(last.tsMs))]
    : older.slice(0, limit)
  return [...rest, ...whole].sort(newestFirst)
}

/** The ranges before the position. Kinds listed after its kind still have their rows of that millisecond. */
function before(ranges: readonly OwnedRange[], { position }: PageQuery, kind: Kind): readonly OwnedRange[] {
  if (!position) return ranges
  return clipRanges(ranges, 0, kind > position.kind ? position.tsMs + 1 : position.tsMs)
}

function newestFirst(a: StoredSample, b: StoredSample): number {
  if (a.tsMs !== b.tsMs) return b.tsMs - a.tsMs
  if (a.record.kind !== b.record.kind) return a.record.kind < b.record.kind ? -1 : 1
  return recordSource(a.record) < recordSource(b.record) ? -1 : 1
}
