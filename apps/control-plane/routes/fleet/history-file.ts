import type { HistoryPosition } from '#questdb/device/history'
import { steppedFields } from '#questdb/device/history-steps'
import { recordMembers } from '#questdb/device/records'
import type { History, HistoryItem, HistoryQuery } from '#reads/history'
import { type Kind, kinds } from '#telemetry/report/fields'
import type { GuardedSource } from '../../http/guarded-stream.ts'
import type { FileColumn, Geometry, PlacedRow, Row } from '../../tables/table.ts'
import { type TableFormat, tableFile } from '../../tables/table-file.ts'

// A compromise between the cost of a query and the memory that a slow reader holds.
const pageSize = 2_000

type Pages = { check(): Promise<void>; next(): Promise<HistoryItem[] | null> }

/**
 * The history after `after` as a file, at most `limit` items. `reopen` is called regularly while the file is read; it throws if
 * the caller is no longer allowed to read the history.
 */
export function historyFile(
  first: History,
  query: HistoryQuery,
  format: TableFormat | 'ndjson',
  start: { limit?: number | undefined; after?: HistoryPosition | undefined },
  reopen: () => Promise<History>,
): GuardedSource {
  const { check, next } = pagesOf(first, start, reopen)
  if (format === 'ndjson') {
    return { check, next: async () => (await next())?.map((item) => `${JSON.stringify(item)}\n`).join('') ?? null }
  }
  const columns = columnsOf(query)
  const hasGeometry = columns.some(({ name }) => name === 'lat')
  return tableFile({ columns, hasGeometry, check, next: async () => (await next())?.map(featureOf) ?? null }, format)
}

function pagesOf(
  first: History,
  start: { limit?: number | undefined; after?: HistoryPosition | undefined },
  reopen: () => Promise<History>,
): Pages {
  let history = first
  let left = start.limit ?? Number.POSITIVE_INFINITY
  let { after } = start
  let isDone = false
  return {
    async check() {
      history = await reopen()
    },
    async next() {
      if (isDone) return null
      const { items, next } = await history.page(Math.min(pageSize, left), after)
      left -= items.length
      after = next?.after
      isDone = !next || left <= 0
      return items
    },
  }
}

/** `ts`, `kind` and all fields of the requested kinds. A field of two kinds is one column. */
function columnsOf(query: HistoryQuery): FileColumn[] {
  const wanted: readonly Kind[] = query.kind ? [query.kind] : kinds
  const statistics = (name: string): FileColumn[] =>
    ['min', 'mean', 'max'].map((word) => ({ name: `${name}.${word}`, type: 'number' }))
  const columns: FileColumn[] = [
    { name: 'ts', type: 'time' },
    { name: 'kind', type: 'text' },
    ...(query.stepSeconds === undefined
      ? wanted.flatMap(recordMembers)
      : [{ name: 'samples', type: 'integer' as const }, ...wanted.flatMap(steppedFields).flatMap(statistics)]),
  ]
  return [...new Map(columns.map((column) => [column.name, column])).values()]
}

const featureOf = (item: HistoryItem): PlacedRow =>
  'samples' in item
    ? { row: { ...item, ...statisticsOf(item.fields as Record<string, object>) }, geometry: null }
    : { row: item, geometry: pointOf(item) }

const statisticsOf = (fields: Record<string, object>): Row =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, statistics]) =>
      Object.entries(statistics).map(([word, value]) => [`${name}.${word}`, value]),
    ),
  )

const pointOf = ({ lat, lon }: Row): Geometry | null =>
  typeof lat === 'number' && typeof lon === 'number' ? { type: 'Point', coordinates: [lon, lat] } : null
