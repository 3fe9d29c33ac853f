import type { SchemaElement } from 'hyparquet-writer'
import type { FileColumnType } from './table.ts'

/** How a type of column is stored: the physical and logical type, and the value that the writer expects. */
export type Storage = {
  element: Omit<SchemaElement, 'name'>
  /** The value as it waits for its row group. */
  hold(value: unknown): unknown
  /** About how many bytes the held value takes. */
  sizeOf?(held: unknown): number
  /** The held values, of which some are null, as the writer takes them. */
  stored(held: unknown[]): unknown[]
  /** Whether a row group has the smallest and the largest value, by which readers skip it. */
  hasBounds: boolean
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const lengthOf = (held: unknown): number => (held as { length: number }).length
const asHeld = (held: unknown[]): unknown[] => held
const asIntegers = (held: unknown[]): unknown[] =>
  held.map((value) => (value === null ? null : BigInt(value as number)))
const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const

export const storages: Record<FileColumnType | 'wkb', Storage> = {
  text: { element: utf8, hold: asText, sizeOf: lengthOf, stored: asHeld, hasBounds: true },
  json: { element: utf8, hold: (value) => JSON.stringify(value), sizeOf: lengthOf, stored: asHeld, hasBounds: false },
  number: { element: { type: 'DOUBLE' }, hold: Number, stored: asHeld, hasBounds: true },
  integer: { element: { type: 'INT64' }, hold: Number, stored: asIntegers, hasBounds: true },
  boolean: { element: { type: 'BOOLEAN' }, hold: Boolean, stored: asHeld, hasBounds: true },
  time: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    hold: (value) => Date.parse(value as string),
    stored: asIntegers,
    hasBounds: true,
  },
  wkb: { element: { type: 'BYTE_ARRAY' }, hold: (value) => value, sizeOf: lengthOf, stored: asHeld, hasBounds: false },
}
