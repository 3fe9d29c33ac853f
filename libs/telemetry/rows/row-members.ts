import {
  type Chunk,
  chunkOf,
  escapeSymbol,
  type LineBuffer,
  putChunk,
  putDouble,
  putQuoted,
  putTimestamp,
  refillChunk,
  reserve,
} from './line-buffer.ts'
import type { Column, ColumnType } from './tables.ts'

/** A column, with what is needed to write it again and again. */
export type PlannedColumn = {
  name: string
  type: ColumnType
  prefix: Chunk
  symbols: Map<unknown, Chunk>
  /** The last LONG: consecutive rows of a device often have the same cell. */
  long: { value: unknown; chunk: Chunk }
}

/** Writes the members of rows into a buffer, in their order and without nulls. Ignores members without a column. */
export type MemberWriter = {
  /** Space that a row's fields take at most, without texts and symbols. `reserve` it before `put`. */
  readonly fixedBytes: number
  /** Calls `between` after the symbols and before the fields. */
  put(buffer: LineBuffer, row: object, between: (buffer: LineBuffer) => void): void
}

/** Longest value of fixed size: a LONG in decimal, its unit and the end of the line. */
export const maxFixedValueBytes = 64

/** Maximum number of escaped symbols to cache per column. */
const maxRememberedSymbols = 4096

const yes = chunkOf('t')
const no = chunkOf('f')

export function planColumn({ name, type }: Pick<Column, 'name' | 'type'>): PlannedColumn {
  // Protocol version 2: a second `=` and the entity type announce a binary double.
  const binaryMark = type === 'DOUBLE' ? '=\x10' : ''
  const long = { value: undefined, chunk: chunkOf('') }
  return { name, type, prefix: chunkOf(`,${name}=${binaryMark}`), symbols: new Map(), long }
}

function symbolChunk({ name, symbols }: PlannedColumn, value: unknown): Chunk {
  const remembered = symbols.get(value)
  if (remembered !== undefined) return remembered
  const chunk = chunkOf(`,${name}=${escapeSymbol(String(value))}`)
  if (symbols.size < maxRememberedSymbols) symbols.set(value, chunk)
  return chunk
}

/** Writes a symbol. Afterwards, `tailBytes` more are reserved. */
export function putSymbol(buffer: LineBuffer, column: PlannedColumn, value: unknown, tailBytes: number): void {
  const chunk = symbolChunk(column, value)
  reserve(buffer, chunk.length + tailBytes)
  putChunk(buffer, chunk)
}

function putLong(buffer: LineBuffer, { long }: PlannedColumn, value: unknown): void {
  if (value !== long.value) {
    long.value = value
    long.chunk = refillChunk(long.chunk, `${value as number | bigint}i`)
  }
  putChunk(buffer, long.chunk)
}

/** Writes a field, with its name. A text reserves its space and `tailBytes` more. */
export function putField(buffer: LineBuffer, column: PlannedColumn, value: unknown, tailBytes: number): void {
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

export function createMemberWriter(columns: readonly Column[]): MemberWriter {
  const planned = new Map(columns.map((column) => [column.key, planColumn(column)]))
  const prefixBytes = [...planned.values()].reduce((sum, { prefix }) => sum + prefix.length, 0)
  const fixedBytes = prefixBytes + (planned.size + 1) * maxFixedValueBytes
  // Columns by position of the row's members. Rows of a table have one shape, and reading them in the order of that
  // shape is several times faster than looking members up by the names of the columns.
  let shape: { key: string; column: PlannedColumn | undefined }[] = []

  const learnShape = (row: object) => {
    shape = Object.keys(row).map((key) => ({ key, column: planned.get(key) }))
  }

  const putSome = (buffer: LineBuffer, row: Record<string, unknown>, symbols: boolean): boolean => {
    let position = 0
    for (const key in row) {
      const value = row[key]
      const member = shape[position++]
      if (member === undefined || member.key !== key) return false
      const { column } = member
      if (value === null || value === undefined || column === undefined) continue
      if (column.type === 'SYMBOL') {
        if (symbols) putSymbol(buffer, column, value, fixedBytes)
      } else if (!symbols) putField(buffer, column, value, fixedBytes)
    }
    return true
  }

  const tryToPut = (buffer: LineBuffer, row: Record<string, unknown>, between: (buffer: LineBuffer) => void) => {
    if (!putSome(buffer, row, true)) return false
    between(buffer)
    return putSome(buffer, row, false)
  }

  return {
    fixedBytes,
    put(buffer, row, between) {
      const members = row as Record<string, unknown>
      const start = buffer.at
      if (tryToPut(buffer, members, between)) return
      buffer.at = start
      learnShape(row)
      tryToPut(buffer, members, between)
    },
  }
}
