import { type QuestdbSql, timestampParameter } from '#questdb/sql'
import { tables } from '#telemetry/tables'

/** What stands in the place of a row: nothing, an erased row, or a row and when that was received. */
export type StoredRow = { kind: 'none' } | { kind: 'erased' } | { kind: 'row'; receivedAtMs: number }

const timesAtOnce = 200

/** Looks up what a table holds for a device at these times. Throws for a table that is not one of telemetry. */
export async function readStoredRows(
  questdb: QuestdbSql,
  table: string,
  deviceId: string,
  timesMs: readonly number[],
): Promise<(tsMs: number) => StoredRow> {
  if (!Object.hasOwn(tables, table)) throw new Error(`There is no table ${table}.`)
  const found = new Map<number, number | null>()
  for (let first = 0; first < timesMs.length; first += timesAtOnce) {
    const part = timesMs.slice(first, first + timesAtOnce)
    const rows = await questdb.query<{ ts: number; received_at: number | null }>(
      `SELECT ts, received_at FROM ${table}
       WHERE device_id = $1 AND ts IN (${part.map((_, index) => `$${index + 2}`).join(', ')})`,
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

/** What a replay must do with something received then, given what stands in its place. */
export function fateOver(stored: StoredRow, receivedAtMs: number): 'replay' | 'erased' | 'superseded' {
  if (stored.kind === 'erased') return 'erased'
  return stored.kind === 'row' && stored.receivedAtMs >= receivedAtMs ? 'superseded' : 'replay'
}
