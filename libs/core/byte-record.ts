/*
 * Numbers and texts one after another in bytes, little-endian, to keep plain data compactly. A function for each type both writes and
 * reads: it gets a value, and returns the same value after it has written it, or the one that it has read instead. So a record is
 * described once, for both directions, and its order cannot differ between them. Nothing in the bytes says what they are. Plain
 * records with functions, because states of devices are written and read on the path of every report.
 */

/** Bytes, and where the next value is. While writing they grow; reading behind the end throws a RangeError. */
export type ByteRecord = { memory: Buffer; view: DataView; at: number; readonly isReading: boolean }

/** A record to write. Setting `at` to 0 starts it again. */
export function createByteRecord(initialBytes: number): ByteRecord {
  const memory = Buffer.allocUnsafeSlow(initialBytes)
  return { memory, view: viewOf(memory), at: 0, isReading: false }
}

/** A record to read. */
export const recordOf = (memory: Buffer): ByteRecord => ({ memory, view: viewOf(memory), at: 0, isReading: true })

const viewOf = (memory: Buffer): DataView => new DataView(memory.buffer, memory.byteOffset, memory.length)

/** The written bytes, until the record is used again. */
export const writtenIn = ({ memory, at }: ByteRecord): Buffer => memory.subarray(0, at)

/** Returns where a value of this many bytes is, and moves behind it. Makes room while writing. */
export function place(record: ByteRecord, count: number): number {
  const from = record.at
  record.at = from + count
  if (record.at > record.memory.length) makeRoom(record, from)
  return from
}

function makeRoom(record: ByteRecord, used: number): void {
  if (record.isReading) throw new RangeError('The bytes end within a value.')
  const longer = Buffer.allocUnsafeSlow(Math.max(2 * record.memory.length, record.at))
  record.memory.copy(longer, 0, 0, used)
  record.memory = longer
  record.view = viewOf(longer)
}

export function byteIn(record: ByteRecord, value: number): number {
  const at = place(record, 1)
  if (record.isReading) return record.view.getUint8(at)
  record.view.setUint8(at, value)
  return value
}

export function countIn(record: ByteRecord, value: number): number {
  const at = place(record, 4)
  if (record.isReading) return record.view.getUint32(at, true)
  record.view.setUint32(at, value, true)
  return value
}

export function numberIn(record: ByteRecord, value: number): number {
  const at = place(record, 8)
  if (record.isReading) return record.view.getFloat64(at, true)
  record.view.setFloat64(at, value, true)
  return value
}

/** A number that is not NaN, or null. */
export function nullableIn(record: ByteRecord, value: number | null): number | null {
  const number = numberIn(record, value ?? Number.NaN)
  return Number.isNaN(number) ? null : number
}

/** An integer of 64 bits with its sign that is not 0, or null. */
export function longIn(record: ByteRecord, value: bigint | null): bigint | null {
  const at = place(record, 8)
  if (!record.isReading) {
    record.view.setBigInt64(at, value ?? 0n, true)
    return value
  }
  const read = record.view.getBigInt64(at, true)
  return read === 0n ? null : read
}

export const flagIn = (record: ByteRecord, value: boolean): boolean => byteIn(record, value ? 1 : 0) === 1

/** One of a few values, by its place among them. */
export const choiceIn = <Choice>(record: ByteRecord, choices: readonly [Choice, ...Choice[]], value: Choice): Choice =>
  choices[byteIn(record, choices.indexOf(value))] ?? choices[0]

/** Bytes of any length. Reads a copy of them. */
export function bytesIn(record: ByteRecord, bytes: Buffer): Buffer {
  const length = countIn(record, record.isReading ? 0 : bytes.length)
  const at = place(record, length)
  if (record.isReading) return Buffer.from(record.memory.subarray(at, record.at))
  bytes.copy(record.memory, at)
  return bytes
}

const [noText, latin1Text, wideText] = [0, 1, 2]
const shortText = 64

export function textIn(record: ByteRecord, text: string | null): string | null {
  if (record.isReading) return readText(record)
  const isNarrow = text === null || isLatin1(text)
  byteIn(record, text === null ? noText : isNarrow ? latin1Text : wideText)
  if (text === null) return null
  countIn(record, text.length)
  const at = place(record, isNarrow ? text.length : 2 * text.length)
  if (isNarrow && text.length <= shortText) {
    // Faster than a call out of JavaScript.
    for (let index = 0; index < text.length; index++) record.memory[at + index] = text.charCodeAt(index)
  } else record.memory.write(text, at, isNarrow ? 'latin1' : 'utf16le')
  return text
}

function readText(record: ByteRecord): string | null {
  const tag = byteIn(record, noText)
  if (tag === noText) return null
  const length = countIn(record, 0)
  const at = place(record, tag === wideText ? 2 * length : length)
  return record.memory.toString(tag === wideText ? 'utf16le' : 'latin1', at, record.at)
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false
  return true
}

/** Stands for the value that is read, where a function takes its members. */
export const unread = {} as never

/** Describes a value of a record. Gets no value while it is read. */
type Described<Value> = (record: ByteRecord, value?: Value) => Value

/** Returns the same object after writing it, or a new one. */
export function partIn<Part>(record: ByteRecord, part: Part, describe: Described<Part>): Part {
  if (record.isReading) return describe(record)
  describe(record, part)
  return part
}

/** The same for a list of any length. */
export function listIn<Item>(record: ByteRecord, items: Item[], describe: Described<Item>): Item[] {
  const count = countIn(record, record.isReading ? 0 : items.length)
  if (!record.isReading) {
    for (const item of items) describe(record, item)
    return items
  }
  const read: Item[] = []
  for (let left = count; left > 0; left--) read.push(describe(record))
  return read
}

/** The same for an object that may be missing. */
export function optionalIn<Part>(
  record: ByteRecord,
  part: Part | undefined,
  describe: Described<Part>,
): Part | undefined {
  return flagIn(record, part !== undefined) ? partIn<Part>(record, part ?? unread, describe) : undefined
}
