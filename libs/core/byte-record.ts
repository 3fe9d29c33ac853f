/*
 * Numbers and texts one after another in bytes, little-endian, to keep plain data compactly. Both sides know the order; nothing in
 * the bytes says what they are. Plain records with functions, because states of devices are written and read on the path of every
 * report.
 */

/** Bytes that grow, and where the next value goes. */
export type ByteWriter = { memory: Buffer; view: DataView; at: number }

/** Bytes, and where the next value is. Reading behind the end throws a RangeError. */
export type ByteReader = { memory: Buffer; view: DataView; at: number }

export function createByteWriter(initialBytes: number): ByteWriter {
  const memory = Buffer.allocUnsafeSlow(initialBytes)
  return { memory, view: viewOf(memory), at: 0 }
}

export const readerOf = (memory: Buffer): ByteReader => ({ memory, view: viewOf(memory), at: 0 })

const viewOf = (memory: Buffer): DataView => new DataView(memory.buffer, memory.byteOffset, memory.length)

/** The written bytes, until the writer is used again. */
export const writtenIn = ({ memory, at }: ByteWriter): Buffer => memory.subarray(0, at)

function makeRoom(writer: ByteWriter, count: number): void {
  if (writer.at + count <= writer.memory.length) return
  const longer = Buffer.allocUnsafeSlow(Math.max(2 * writer.memory.length, writer.at + count))
  writer.memory.copy(longer, 0, 0, writer.at)
  writer.memory = longer
  writer.view = viewOf(longer)
}

export function writeByte(writer: ByteWriter, value: number): void {
  makeRoom(writer, 1)
  writer.memory[writer.at++] = value
}

export function writeCount(writer: ByteWriter, value: number): void {
  makeRoom(writer, 4)
  writer.view.setUint32(writer.at, value, true)
  writer.at += 4
}

export function writeNumber(writer: ByteWriter, value: number): void {
  makeRoom(writer, 8)
  writer.view.setFloat64(writer.at, value, true)
  writer.at += 8
}

/** A number that is not NaN, or null. */
export const writeNullable = (writer: ByteWriter, value: number | null): void =>
  writeNumber(writer, value ?? Number.NaN)

/** An integer of 64 bits with its sign that is not 0, or null. */
export function writeLong(writer: ByteWriter, value: bigint | null): void {
  makeRoom(writer, 8)
  writer.view.setBigInt64(writer.at, value ?? 0n, true)
  writer.at += 8
}

/** The first `length` bytes. */
export function writeBytes(writer: ByteWriter, bytes: Buffer, length = bytes.length): void {
  writeCount(writer, length)
  makeRoom(writer, length)
  writer.at += bytes.copy(writer.memory, writer.at, 0, length)
}

const [noText, latin1Text, wideText] = [0, 1, 2]
const shortText = 64

export function writeText(writer: ByteWriter, text: string | null): void {
  const isNarrow = text === null || isLatin1(text)
  writeByte(writer, text === null ? noText : isNarrow ? latin1Text : wideText)
  if (text === null) return
  writeCount(writer, text.length)
  makeRoom(writer, 2 * text.length)
  if (isNarrow && text.length <= shortText) {
    // Faster than a call out of JavaScript.
    for (let index = 0; index < text.length; index++) writer.memory[writer.at + index] = text.charCodeAt(index)
    writer.at += text.length
  } else writer.at += writer.memory.write(text, writer.at, isNarrow ? 'latin1' : 'utf16le')
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false
  return true
}

export function readByte(reader: ByteReader): number {
  const value = reader.view.getUint8(reader.at)
  reader.at += 1
  return value
}

export function readCount(reader: ByteReader): number {
  const value = reader.view.getUint32(reader.at, true)
  reader.at += 4
  return value
}

export function readNumber(reader: ByteReader): number {
  const value = reader.view.getFloat64(reader.at, true)
  reader.at += 8
  return value
}

export function readNullable(reader: ByteReader): number | null {
  const value = readNumber(reader)
  return Number.isNaN(value) ? null : value
}

export function readLong(reader: ByteReader): bigint | null {
  const value = reader.view.getBigInt64(reader.at, true)
  reader.at += 8
  return value === 0n ? null : value
}

/** A copy of the bytes. */
export function readBytes(reader: ByteReader): Buffer {
  const from = takeBytes(reader, readCount(reader))
  return Buffer.from(reader.memory.subarray(from, reader.at))
}

export function readText(reader: ByteReader): string | null {
  const tag = readByte(reader)
  if (tag === noText) return null
  const length = readCount(reader)
  const from = takeBytes(reader, tag === wideText ? 2 * length : length)
  return reader.memory.toString(tag === wideText ? 'utf16le' : 'latin1', from, reader.at)
}

/** Returns where the next bytes start, and moves behind them. */
function takeBytes(reader: ByteReader, count: number): number {
  const from = reader.at
  reader.at += count
  if (reader.at > reader.memory.length) throw new RangeError('The bytes end within a value.')
  return from
}
