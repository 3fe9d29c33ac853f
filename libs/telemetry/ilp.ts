import { createLineBuffer, escapeName, type LineBuffer } from './line-buffer.ts'
import type { Column, Table } from './tables.ts'

/** Where the rows of one report come from; the same object for all its rows, so that it is encoded once. */
export type RowOrigin = { deviceId: string; organizationId: string; receivedAtMs: number }

/** Rows of one table, ready to send. `rowEnds` are byte offsets: strings may hold newlines, so lines cannot be split. */
export type EncodedRows = { table: string; bytes: Buffer; rowEnds: number[] }

export type RowEncoder = {
  /** Adds a row. `row` has a member for each column's key; null and undefined leave the column out. */
  append: (row: { tsMs: number }, origin: RowOrigin) => void
  /** Bytes waiting. */
  size: () => number
  /** Hands over what is waiting and starts anew. */
  take: () => EncodedRows
}

type Write = (buffer: LineBuffer, value: unknown) => void
type PlannedColumn = { key: string; write: Write }

const ascii = (text: string): Uint8Array => Buffer.from(text, 'utf8')

/** Past this many different words a column's symbols are no longer remembered but escaped each time. */
const maxRememberedSymbols = 4096

function symbolWriter(name: string): Write {
  const remembered = new Map<unknown, Uint8Array>()
  return (buffer, value) => {
    let bytes = remembered.get(value)
    if (bytes === undefined) {
      bytes = ascii(`,${name}=${escapeName(value as string)}`)
      if (remembered.size < maxRememberedSymbols) remembered.set(value, bytes)
    }
    buffer.bytes(bytes)
  }
}

function fieldWriter({ name, type }: Column): Write {
  const prefix = ascii(`,${name}=`)
  switch (type) {
    case 'DOUBLE': {
      // Protocol version 2: a second `=`, the entity type of a double, then its eight bytes, lowest first.
      const binaryPrefix = Buffer.concat([prefix, Buffer.of(0x3d, 0x10)])
      return (buffer, value) => {
        buffer.bytes(binaryPrefix)
        buffer.double(value as number)
      }
    }
    case 'LONG':
      return (buffer, value) => {
        buffer.bytes(prefix)
        buffer.bytes(ascii(`${value as number | bigint}i`))
      }
    case 'BOOLEAN': {
      const yes = ascii(`,${name}=t`)
      const no = ascii(`,${name}=f`)
      return (buffer, value) => buffer.bytes(value ? yes : no)
    }
    case 'TIMESTAMP':
      return (buffer, value) => {
        buffer.bytes(prefix)
        buffer.timestamp(value as number)
      }
    default:
      return (buffer, value) => {
        buffer.bytes(prefix)
        buffer.quoted(value as string)
      }
  }
}

/**
 * Encodes rows of one table as InfluxDB line protocol in QuestDB's version 2 (binary doubles, microsecond times), byte
 * for byte what QuestDB's own client writes with the columns in the same order: symbols first, then `received_at`,
 * then the rest in table order.
 */
export function createRowEncoder(table: Table, initialBytes = 1 << 20): RowEncoder {
  const symbols: PlannedColumn[] = []
  const fields: PlannedColumn[] = []
  for (const column of table.columns) {
    if (column.key === 'receivedAtMs') continue
    if (column.type === 'SYMBOL') symbols.push({ key: column.key, write: symbolWriter(column.name) })
    else fields.push({ key: column.key, write: fieldWriter(column) })
  }

  let buffer = createLineBuffer(initialBytes)
  let rowEnds: number[] = []
  let origin: RowOrigin | null = null
  let lineStart = ascii('')
  let receivedAt = ascii('')

  const useOrigin = (next: RowOrigin) => {
    origin = next
    lineStart = ascii(`${table.name},device_id=${escapeName(next.deviceId)},org_id=${escapeName(next.organizationId)}`)
    receivedAt = ascii(` received_at=${next.receivedAtMs}000t`)
  }

  return {
    append: (row, rowOrigin) => {
      if (rowOrigin !== origin) useOrigin(rowOrigin)
      const values = row as Record<string, unknown> & { tsMs: number }
      buffer.bytes(lineStart)
      writePresent(symbols, values, buffer)
      buffer.bytes(receivedAt)
      writePresent(fields, values, buffer)
      buffer.endLine(row.tsMs)
      rowEnds.push(buffer.size())
    },
    size: () => buffer.size(),
    take: () => {
      const taken = { table: table.name, bytes: buffer.contents(), rowEnds }
      buffer = createLineBuffer(initialBytes)
      rowEnds = []
      return taken
    },
  }
}

function writePresent(columns: PlannedColumn[], values: Record<string, unknown>, buffer: LineBuffer): void {
  for (const column of columns) {
    const value = values[column.key]
    if (value !== null && value !== undefined) column.write(buffer, value)
  }
}
