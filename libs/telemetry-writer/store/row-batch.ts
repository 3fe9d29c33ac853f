import { createRowEncoder, type EncodedRows, type RowEncoder, type RowOrigin } from '#telemetry/rows/ilp'
import type { RadioRow } from '#telemetry/rows/radio-row'
import { type TableName, tables } from '#telemetry/rows/tables'
import type { SendReason } from './activity.ts'

/** How a stored row counts its sample. Rows that are sent again or realigned were counted before. */
export const fates = { uncounted: 0, stored: 1, replaced: 2 } as const
export type RowOutcome = (typeof fates)[keyof typeof fates]

export type BatchRows = EncodedRows & { fates: RowOutcome[]; reasons: SendReason[] }

export type RowBatch = {
  append(table: TableName, row: { tsMs: number }, origin: RowOrigin, fate: RowOutcome, reason: SendReason): void
  appendRadio(row: RadioRow, origin: RowOrigin, fate: RowOutcome, reason: SendReason): void
  /** Runs `add`. If it throws, removes the rows that it added. */
  allOrNone<Result>(add: () => Result): Result
  /** Bytes of the largest table. */
  largestBytes(): number
  isEmpty(): boolean
  /** Rows of all tables. */
  rowCount(): number
  /** Returns the rows of every table that has some, and starts a new batch. */
  take(): BatchRows[]
}

type OpenTable = { encoder: RowEncoder; fates: RowOutcome[]; reasons: SendReason[] }

/** Small, because each flush replaces the buffers of its tables. A table with more rows keeps the size that they need. */
const initialBytes = 16 * 1024

/** Collects encoded rows by table until they are sent together. */
export function createRowBatch(): RowBatch {
  const openTable = (name: TableName): OpenTable => ({
    encoder: createRowEncoder(tables[name], initialBytes),
    fates: [],
    reasons: [],
  })
  const names = Object.keys(tables) as TableName[]
  const open = Object.fromEntries(names.map((name) => [name, openTable(name)])) as Record<TableName, OpenTable>
  const collected = Object.values(open)
  return {
    append(table, row, origin, fate, reason) {
      const { encoder, fates, reasons } = open[table]
      encoder.append(row, origin)
      fates.push(fate)
      reasons.push(reason)
    },
    appendRadio(row, origin, fate, reason) {
      const { encoder, fates, reasons } = open.cellular
      encoder.appendRadio(row, origin)
      fates.push(fate)
      reasons.push(reason)
    },
    allOrNone(add) {
      const before = collected.map(({ fates }) => fates.length)
      try {
        return add()
      } catch (error) {
        for (const [index, { encoder, fates, reasons }] of collected.entries()) {
          fates.length = before[index] ?? 0
          reasons.length = fates.length
          encoder.truncate(fates.length)
        }
        throw error
      }
    },
    largestBytes: () => collected.reduce((largest, { encoder }) => Math.max(largest, encoder.size()), 0),
    isEmpty: () => collected.every(({ encoder }) => encoder.size() === 0),
    rowCount: () => collected.reduce((sum, { fates }) => sum + fates.length, 0),
    take() {
      return collected.flatMap((target) => {
        if (target.encoder.size() === 0) return []
        const rows = { ...target.encoder.take(), fates: target.fates, reasons: target.reasons }
        target.fates = []
        target.reasons = []
        return [rows]
      })
    },
  }
}
