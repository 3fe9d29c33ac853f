/** A row of telemetry history. Its fields depend on its kind. */
export type HistoryRow = {
  ts: string
  kind: 'connection' | 'cellular' | 'system' | 'location'
  [field: string]: unknown
}

export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** A longer time without reports is a gap in the charts. */
export const silenceMs = 5 * 60_000

/** So many rows of a kind are read; a device that reports once a second has more after 5.6 hours. */
export const mostRows = 20_000

/**
 * The time from which on all of the lists are complete, if one was too long to be read as a whole; null if all are complete. Each list is
 * of one kind, oldest first.
 */
export function completeFromMs(...lists: readonly (readonly HistoryRow[])[]): number | null {
  const starts = lists.flatMap((rows) => (rows.length >= mostRows && rows[0] ? [Date.parse(rows[0].ts)] : []))
  return starts.length > 0 ? Math.max(...starts) : null
}
