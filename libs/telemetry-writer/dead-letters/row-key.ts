import { sourceOf } from '#telemetry/report/sources'
import type { DeadRow } from '#telemetry-log/dead-letters/dead-letters'

/** The key of a row in its table, and its time of receipt. */
export type RowKey = { table: string; deviceId: string; tsMs: number; source: string; receivedAtMs: number }

// Symbols escape their spaces, `received_at` is always the first field, the names of the source are next, and the line ends
// with its time.
const start = /^(\w+),device_id=([0-9a-f-]{36}),(?:\\.|[^\\ ])* received_at=(\d+)t(?:,ts_corrected=[tf])?/
const names = /^(?:,modem="((?:\\.|[^"\\])*)")?(?:,interface="((?:\\.|[^"\\])*)")?/s
const end = / (\d+)t\n?$/

/** Reads the key of a row from its line protocol. Undefined if the writer did not encode it. */
export function rowKeyOf({ row }: DeadRow): RowKey | undefined {
  // Doubles are binary, so the bytes in between are not text.
  const text = Buffer.from(row, 'base64').toString('latin1')
  const [head, table, deviceId, receivedAtUs] = start.exec(text) ?? []
  const [, modem, uplink] = names.exec(text.slice(head?.length)) ?? []
  const [, tsUs] = end.exec(text.slice(-32)) ?? []
  if (table === undefined || deviceId === undefined || tsUs === undefined) return undefined
  const source = sourceOf(nameOf(modem), nameOf(uplink))
  return { table, deviceId, tsMs: Number(tsUs) / 1_000, source, receivedAtMs: Number(receivedAtUs) / 1_000 }
}

/** Reads a quoted text of line protocol. */
const nameOf = (quoted: string | undefined): string | null =>
  quoted === undefined ? null : Buffer.from(quoted, 'latin1').toString('utf8').replace(/\\(.)/gs, '$1')
