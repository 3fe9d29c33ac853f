import type { HistoryPosition } from '#questdb/history'
import { steppedFields } from '#questdb/history-steps'
import { recordFields } from '#questdb/records'
import { type Kind, kinds } from '#telemetry/fields'
import type { History, HistoryItem, HistoryQuery } from './history.ts'

export type StreamFormat = 'csv' | 'ndjson'

export const streamTypes: Record<StreamFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
}

// Large enough that a page's query pays, small enough that a slow reader costs little memory.
const pageSize = 2_000

/** The whole history, or its first `limit` items, as text; one page at a time is in memory, read when it is asked for. */
export function streamHistory(
  history: History,
  query: HistoryQuery,
  format: StreamFormat,
  start: { limit?: number | undefined; after?: HistoryPosition | undefined },
): ReadableStream<Uint8Array> {
  const columns = format === 'csv' ? csvColumns(query) : []
  const line =
    format === 'csv'
      ? (item: HistoryItem) => csvLine(columns, item)
      : (item: HistoryItem) => `${JSON.stringify(item)}\n`
  const encoder = new TextEncoder()
  let left = start.limit ?? Number.POSITIVE_INFINITY
  let after = start.after
  return new ReadableStream({
    start(controller) {
      if (format === 'csv') controller.enqueue(encoder.encode(`${columns.join(',')}\r\n`))
    },
    async pull(controller) {
      const { items, next } = await history.page(Math.min(pageSize, left), after)
      left -= items.length
      after = next?.after
      if (items.length > 0) controller.enqueue(encoder.encode(items.map(line).join('')))
      if (!next || left <= 0) controller.close()
    },
  })
}

/** `ts`, `kind` and every field of the kinds asked for; a field two kinds share is one column. */
function csvColumns(query: HistoryQuery): string[] {
  const wanted: readonly Kind[] = query.kind ? [query.kind] : kinds
  if (query.stepSeconds === undefined) return [...new Set(['ts', 'kind', ...wanted.flatMap(recordFields)])]
  const statistics = wanted
    .flatMap(steppedFields)
    .flatMap((name) => ['min', 'mean', 'max'].map((word) => `${name}.${word}`))
  return [...new Set(['ts', 'kind', 'samples', ...statistics])]
}

const csvLine = (columns: readonly string[], item: HistoryItem): string =>
  `${columns.map((column) => csvCell(valueAt(item, column))).join(',')}\r\n`

function valueAt(item: HistoryItem, column: string): unknown {
  const [name = '', statistic] = column.split('.')
  if (statistic === undefined) return (item as Record<string, unknown>)[name]
  const fields = (item as { fields: Record<string, Record<string, unknown>> }).fields
  return fields[name]?.[statistic]
}

/** RFC 4180: quoted only where it must be; null is an empty cell. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
