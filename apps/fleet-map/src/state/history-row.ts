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
