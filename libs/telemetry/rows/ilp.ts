import {
  chunkOf,
  createLineBuffer,
  escapeSymbol,
  type LineBuffer,
  putChunk,
  putLineEnd,
  putTimestamp,
  refillChunk,
  reserve,
  writtenBytes,
} from './line-buffer.ts'
import {
  laterBytes,
  putLaterFields,
  putLaterSymbols,
  putRestFields,
  putRestSymbols,
  type RadioRow,
} from './radio-row.ts'
import { createMemberWriter, maxFixedValueBytes } from './row-members.ts'
import { type Table, tables } from './tables.ts'

/** The origin of the rows of a report. */
export type RowOrigin = { deviceId: string; organizationId: string; receivedAtMs: number }

/** Rows of one table, ready to send. `rowEnds` are byte offsets: strings may hold newlines, so lines cannot be split. */
export type EncodedRows = { table: string; bytes: Buffer; rowEnds: number[] }

export type RowEncoder = {
  /** Adds a row. Writes its members in their order, without nulls. Ignores members without a column. */
  append: (row: { tsMs: number }, origin: RowOrigin) => void
  /** Adds an RF row, of which most is encoded already. */
  appendRadio: (row: RadioRow, origin: RowOrigin) => void
  /** Returns the number of encoded bytes. */
  size: () => number
  /** Removes the newest rows until `rows` are left. */
  truncate: (rows: number) => void
  /** Returns the encoded rows and clears the encoder. */
  take: () => EncodedRows
}

/** The device and the organization of the last row, encoded: the rows of a report are of several tables. */
let [lastDeviceId, lastOrganizationId] = ['', '']
let ids = chunkOf('')
const receivedAt = chunkOf(' received_at=')

function encodeIds({ deviceId, organizationId }: RowOrigin): void {
  lastDeviceId = deviceId
  lastOrganizationId = organizationId
  ids = refillChunk(ids, `,device_id=${escapeSymbol(deviceId)},org_id=${escapeSymbol(organizationId)}`)
}

/** When the report of the row that is written was received. */
let receivedAtMs = 0

function putReceivedAt(line: LineBuffer): void {
  putChunk(line, receivedAt)
  putTimestamp(line, receivedAtMs)
}

/**
 * Encodes rows of one table as InfluxDB line protocol in QuestDB's version 2 (binary doubles, microsecond times), byte
 * for byte what QuestDB's own client writes: symbols first, then `received_at`, then the other columns.
 */
export function createRowEncoder(table: Table, initialBytes = 1 << 20): RowEncoder {
  const members = createMemberWriter(table.columns.filter(({ key }) => key !== 'receivedAtMs'))
  let buffer = createLineBuffer(initialBytes)
  let rowEnds: number[] = []
  const name = chunkOf(table.name)

  const startLine = (origin: RowOrigin, bytes: number) => {
    if (origin.deviceId !== lastDeviceId || origin.organizationId !== lastOrganizationId) encodeIds(origin)
    receivedAtMs = origin.receivedAtMs
    reserve(buffer, name.length + ids.length + receivedAt.length + maxFixedValueBytes + bytes)
    putChunk(buffer, name)
    putChunk(buffer, ids)
  }
  const endLine = (tsMs: number) => {
    putLineEnd(buffer, tsMs)
    rowEnds.push(buffer.at)
  }

  return {
    append(row, origin) {
      startLine(origin, members.fixedBytes)
      members.put(buffer, row, putReceivedAt)
      endLine(row.tsMs)
    },
    appendRadio(row, origin) {
      if (table !== tables.cellular) throw new Error(`An RF row is not of the table ${table.name}.`)
      startLine(origin, row.restBytes + laterBytes)
      putRestSymbols(buffer, row)
      putLaterSymbols(buffer, row)
      putReceivedAt(buffer)
      putRestFields(buffer, row)
      putLaterFields(buffer, row)
      endLine(row.tsMs)
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
