import {
  type Chunk,
  chunkOf,
  createLineBuffer,
  escapeSymbol,
  type LineBuffer,
  putChunk,
  putDouble,
  putLineEnd,
  putQuoted,
  putTimestamp,
  refillChunk,
  reserve,
  writtenBytes,
} from './line-buffer.ts'
import type { Column, ColumnType, Table } from './tables.ts'

/** The origin of the rows of a report. One object for all its rows, so that it is encoded once. */
export type RowOrigin = { deviceId: string; organizationId: string; receivedAtMs: number }

/** Rows of one table, ready to send. `rowEnds` are byte offsets: strings may hold newlines, so lines cannot be split. */
export type EncodedRows = { table: string; bytes: Buffer; rowEnds: number[] }

export type RowEncoder = {
  /** Adds a row. Writes its members in their order, without nulls. Ignores members without a column. */
  append: (row: { tsMs: number }, origin: RowOrigin) => void
  /** Returns the number of encoded bytes. */
  size: () => number
  /** Removes the newest rows until `rows` are left. */
  truncate: (rows: number) => void
  /** Returns the encoded rows and clears the encoder. */
  take: () => EncodedRows
}

type PlannedColumn = {
  name: string
  key: string
  type: ColumnType
  prefix: Chunk
  symbols: Map<unknown, Chunk>
  /** The last LONG: consecutive rows of a device often have the same cell. */
  long: { value: unknown; chunk: Chunk }
}

/** Longest value of fixed size: a LONG in decimal, its unit and the end of the line. */
const maxFixedValueBytes = 64

/** Maximum number of escaped symbols to cache per column. */
const maxRememberedSymbols = 4096

const yes = chunkOf('t')
const no = chunkOf('f')

const noLong = () => ({ value: undefined, chunk: chunkOf('') })

function planColumn({ name, key, type }: Column): PlannedColumn {
  // Protocol version 2: a second `=` and the entity type announce a binary double.
  const binaryMark = type === 'DOUBLE' ? '=\x10' : ''
  return { name, key, type, prefix: chunkOf(`,${name}=${binaryMark}`), symbols: new Map(), long: noLong() }
}

function symbolChunk({ name, symbols }: PlannedColumn, value: unknown): Chunk {
  const remembered = symbols.get(value)
  if (remembered !== undefined) return remembered
  const chunk = chunkOf(`,${name}=${escapeSymbol(String(value))}`)
  if (symbols.size < maxRememberedSymbols) symbols.set(value, chunk)
  return chunk
}

function putLong(buffer: LineBuffer, { long }: PlannedColumn, value: unknown): void {
  if (value !== long.value) {
    long.value = value
    long.chunk = refillChunk(long.chunk, `${value as number | bigint}i`)
  }
  putChunk(buffer, long.chunk)
}

function putField(buffer: LineBuffer, column: PlannedColumn, value: unknown, tailBytes: number): void {
  putChunk(buffer, column.prefix)
  switch (column.type) {
    case 'DOUBLE':
      putDouble(buffer, value as number)
      break
    case 'TIMESTAMP':
      putTimestamp(buffer, value as number)
      break
    case 'BOOLEAN':
      putChunk(buffer, value ? yes : no)
      break
    case 'LONG':
      putLong(buffer, column, value)
      break
    default:
      putQuoted(buffer, value as string, tailBytes)
  }
}

/**
 * Encodes rows of one table as InfluxDB line protocol in QuestDB's version 2 (binary doubles, microsecond times), byte
 * for byte what QuestDB's own client writes: symbols first, then `received_at`, then the other columns.
 */
// Long because each row is written into the same buffer, on the path of every sample.
export function createRowEncoder(table: Table, initialBytes = 1 << 20): RowEncoder {
  const columns = new Map<string, PlannedColumn>()
  for (const column of table.columns) {
    if (column.key !== 'receivedAtMs') columns.set(column.key, planColumn(column))
  }
  const prefixBytes = [...columns.values()].reduce((sum, { prefix }) => sum + prefix.length, 0)
  const maxFixedBytes = prefixBytes + (columns.size + 1) * maxFixedValueBytes

  let buffer = createLineBuffer(initialBytes)
  let rowEnds: number[] = []
  let lastOrigin: RowOrigin | null = null
  let lineStart = chunkOf('')
  let receivedAt = chunkOf('')
  // Columns by position of the row's members. Rows of a table have one shape, and reading them in the order of that
  // shape is several times faster than looking members up by the names of the columns.
  let shape: { key: string; column: PlannedColumn | undefined }[] = []

  const learnShape = (row: object) => {
    shape = Object.keys(row).map((key) => ({ key, column: columns.get(key) }))
  }

  const useOrigin = (origin: RowOrigin) => {
    lastOrigin = origin
    const [deviceId, organizationId] = [escapeSymbol(origin.deviceId), escapeSymbol(origin.organizationId)]
    lineStart = refillChunk(lineStart, `${table.name},device_id=${deviceId},org_id=${organizationId}`)
    receivedAt = refillChunk(receivedAt, ` received_at=${origin.receivedAtMs}000t`)
  }

  const putMembers = (row: Record<string, unknown>, symbols: boolean): boolean => {
    let position = 0
    for (const key in row) {
      const value = row[key]
      const member = shape[position++]
      if (member === undefined || member.key !== key) return false
      const { column } = member
      if (value === null || value === undefined || column === undefined) continue
      if (column.type === 'SYMBOL') {
        if (symbols) putSymbol(column, value)
      } else if (!symbols) putField(buffer, column, value, maxFixedBytes)
    }
    return true
  }

  const putSymbol = (column: PlannedColumn, value: unknown) => {
    const chunk = symbolChunk(column, value)
    reserve(buffer, chunk.length + maxFixedBytes)
    putChunk(buffer, chunk)
  }

  const putRow = (row: Record<string, unknown>, tsMs: number): boolean => {
    reserve(buffer, lineStart.length + receivedAt.length + maxFixedBytes)
    putChunk(buffer, lineStart)
    if (!putMembers(row, true)) return false
    putChunk(buffer, receivedAt)
    if (!putMembers(row, false)) return false
    putLineEnd(buffer, tsMs)
    return true
  }

  return {
    append: (row, origin) => {
      if (origin !== lastOrigin) useOrigin(origin)
      const members = row as Record<string, unknown> & { tsMs: number }
      const start = buffer.at
      if (!putRow(members, row.tsMs)) {
        buffer.at = start
        learnShape(row)
        putRow(members, row.tsMs)
      }
      rowEnds.push(buffer.at)
    },
    size: () => buffer.at,
    truncate: (rows) => {
      rowEnds.length = Math.min(rows, rowEnds.length)
      buffer.at = rowEnds.at(-1) ?? 0
    },
    take: () => {
      const taken = { table: table.name, bytes: writtenBytes(buffer), rowEnds }
      // The same size as before, so that steady traffic does not grow it step by step.
      buffer = createLineBuffer(Math.max(initialBytes, Math.ceil(buffer.at * 1.25)))
      rowEnds = []
      return taken
    },
  }
}
