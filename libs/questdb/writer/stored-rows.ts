import { placeholders, type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { sourceOf } from '#telemetry/report/sources'
import { type TableName, tables } from '#telemetry/rows/tables'

/** What a table holds under a row's key: nothing, an erased row, or a row with the time it was received. */
export type StoredRow = { kind: 'none' } | { kind: 'erased' } | { kind: 'row'; receivedAtMs: number }

const timesPerQuery = 200

/**
 * Reads what a table holds for a device at these times. Returns a function that looks up one of the times and a source. Throws
 * if the table is not a telemetry table.
 */
export async function readStoredRows(
  questdb: QuestdbSql,
  table: string,
  deviceId: string,
  timesMs: readonly number[],
): Promise<(tsMs: number, source: string) => StoredRow> {
  if (!Object.hasOwn(tables, table)) throw new Error(`There is no table ${table}.`)
  const { sourceColumns } = tables[table as TableName]
  const found = new Map<string, number | null>()
  const keyOf = (tsMs: number, source: string) => `${tsMs} ${source}`
  for (let first = 0; first < timesMs.length; first += timesPerQuery) {
    const part = timesMs.slice(first, first + timesPerQuery)
    const rows = await questdb.queryArrays<[number, number | null, ...(string | null)[]]>(
      `SELECT ${['ts', 'received_at', ...sourceColumns].join(', ')} FROM ${table}
       WHERE device_id = $1 AND ts IN (${placeholders(part.length, 2)})`,
      [deviceId, ...part.map(timestampParameter)],
    )
    for (const [tsMs, receivedAtMs, modem = null, uplink = null] of rows)
      found.set(keyOf(tsMs, sourceOf(modem, uplink)), receivedAtMs)
  }
  return (tsMs, source) => {
    const receivedAtMs = found.get(keyOf(tsMs, source))
    if (receivedAtMs === undefined) return { kind: 'none' }
    return receivedAtMs === null ? { kind: 'erased' } : { kind: 'row', receivedAtMs }
  }
}
