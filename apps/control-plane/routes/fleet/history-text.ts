import type { HistoryPosition } from '#questdb/device/history'
import { steppedFields } from '#questdb/device/history-steps'
import { recordFields } from '#questdb/device/records'
import type { History, HistoryItem, HistoryQuery } from '#reads/history'
import { type Kind, kinds } from '#telemetry/report/fields'
import { type CsvValue, csvLines } from '../../http/csv.ts'
import type { GuardedSource } from '../../http/guarded-stream.ts'

export type StreamFormat = 'csv' | 'ndjson'

export const streamTypes: Record<StreamFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
}

// A compromise between the cost of a query and the memory that a slow reader holds.
const pageSize = 2_000

/**
 * The text of the history after `after`, at most `limit` items. Only one page is in memory at a time. `reopen` is
 * called regularly while the text is read; it throws if the caller is no longer allowed to read the history.
 */
export function historyText(
  first: History,
  query: HistoryQuery,
  format: StreamFormat,
  start: { limit?: number | undefined; after?: HistoryPosition | undefined },
  reopen: () => Promise<History>,
): GuardedSource {
  const columns = format === 'csv' ? csvColumns(query) : []
  const textOf =
    format === 'csv'
      ? (items: readonly HistoryItem[]) => csvLines(items.map((item) => columns.map((column) => valueAt(item, column))))
      : (items: readonly HistoryItem[]) => items.map((item) => `${JSON.stringify(item)}\n`).join('')
  let head = format === 'csv' ? csvLines([columns]) : ''
  let history = first
  let left = start.limit ?? Number.POSITIVE_INFINITY
  let after = start.after
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
      const text = head + textOf(items)
      head = ''
      return text
    },
  }
}

/** `ts`, `kind` and all fields of the requested kinds. A field of two kinds is one column. */
function csvColumns(query: HistoryQuery): string[] {
  const wanted: readonly Kind[] = query.kind ? [query.kind] : kinds
  if (query.stepSeconds === undefined) return [...new Set(['ts', 'kind', ...wanted.flatMap(recordFields)])]
  const statistics = wanted
    .flatMap(steppedFields)
    .flatMap((name) => ['min', 'mean', 'max'].map((word) => `${name}.${word}`))
  return [...new Set(['ts', 'kind', 'samples', ...statistics])]
}

function valueAt(item: HistoryItem, column: string): CsvValue {
  const [name = '', statistic] = column.split('.')
  if (statistic === undefined) return (item as Record<string, CsvValue>)[name]
  const fields = (item as { fields: Record<string, Record<string, CsvValue>> }).fields
  return fields[name]?.[statistic]
}
