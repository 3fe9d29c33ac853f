import { placeholders, type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { tables } from '#telemetry/rows/tables'

/** What a table holds under a row's key: nothing, an erased row, or a row with the time it was received. */
export type StoredRow = { kind: 'none' } | { kind: 'erased' } | { kind: 'row'; receivedAtMs: number }

const timesPerQuery = 200

/**
 * Reads what a table holds for a device at these times. Returns a function that looks up one of the times. Throws if the
 * table is not a telemetry table.
 */
export async function readStoredRows(
  questdb: QuestdbSql,
  table: string,
  deviceId: string,
  timesMs: readonly number[],
): Promise<(tsMs: number) => StoredRow> {
  if (!Object.hasOwn(tables, table)) throw new Error(`There is no table ${table}.`)
  const found = new Map<number, number | null>()
  for (let first = 0; first < timesMs.length; first += timesPerQuery) {
    const part = timesMs.slice(first, first + timesPerQuery)
    const rows = await questdb.query<{ ts: number; received_at: number | null }>(
      `SELECT ts, received_at FROM ${table}
       WHERE device_id = $1 AND ts IN (${placeholders(part.length, 2)})`,
      [deviceId, ...part.map(timestampParameter)],
    )
    for (const { ts, received_at } of rows) found.set(ts, received_at)
  }
  return (tsMs) => {
    const receivedAtMs = found.get(tsMs)
    if (receivedAtMs === undefined) return { kind: 'none' }
    return receivedAtMs === null ? { kind: 'erased' } : { kind: 'row', receivedAtMs }
  }
}
