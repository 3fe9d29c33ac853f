import type { DeadRow } from '#telemetry-log/dead-letters/dead-letters'

/** The key of a row in its table, and its time of receipt. */
export type RowKey = { table: string; deviceId: string; tsMs: number; receivedAtMs: number }

// Symbols escape their spaces, `received_at` is always the first field, and the line ends with its time.
const start = /^(\w+),device_id=([0-9a-f-]{36}),(?:\\.|[^\\ ])* received_at=(\d+)t/
const end = / (\d+)t\n?$/

/** Reads the key of a row from its line protocol. Undefined if the writer did not encode it. */
export function rowKeyOf({ row }: DeadRow): RowKey | undefined {
  // Doubles are binary, so the bytes in between are not text.
  const text = Buffer.from(row, 'base64').toString('latin1')
  const [, table, deviceId, receivedAtUs] = start.exec(text) ?? []
  const [, tsUs] = end.exec(text.slice(-32)) ?? []
  if (table === undefined || deviceId === undefined || tsUs === undefined) return undefined
  return { table, deviceId, tsMs: Number(tsUs) / 1_000, receivedAtMs: Number(receivedAtUs) / 1_000 }
}
