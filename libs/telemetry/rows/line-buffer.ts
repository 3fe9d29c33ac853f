import { endianness } from 'node:os'

/** A buffer of line protocol. A plain record with functions, because this is the innermost loop of the writer. */
export type LineBuffer = { memory: Buffer; view: DataView; at: number }

const space = 0x20
const newline = 0x0a
const carriageReturn = 0x0d
const quote = 0x22
const backslash = 0x5c
const zero = 0x30
const letterT = 0x74

const isLittleEndian = endianness() === 'LE'

export function createLineBuffer(initialBytes: number): LineBuffer {
  const memory = Buffer.allocUnsafeSlow(initialBytes)
  return { memory, view: new DataView(memory.buffer), at: 0 }
}

/** Returns the written bytes. They share memory with the buffer, which must not be written to afterwards. */
export const writtenBytes = (buffer: LineBuffer): Buffer => buffer.memory.subarray(0, buffer.at)

/** Makes room. The `put` functions of fixed size rely on it having been called; those of text call it themselves. */
export function reserve(buffer: LineBuffer, length: number): void {
  const needed = buffer.at + length
  if (needed <= buffer.memory.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(buffer.memory.length * 2, needed))
  buffer.memory.copy(larger, 0, 0, buffer.at)
  buffer.memory = larger
  buffer.view = new DataView(larger.buffer)
}

/** A byte string for repeated writes, stored as 32-bit words to write four bytes per step. */
export type Chunk = { words: Int32Array; bytes: Buffer; length: number }

export function chunkOf(text: string): Chunk {
  const chunk = chunkFor(Buffer.byteLength(text))
  chunk.length = chunk.bytes.write(text)
  return chunk
}

function chunkFor(length: number): Chunk {
  const words = new Int32Array(Math.ceil(length / 4))
  return { words, bytes: Buffer.from(words.buffer), length: 0 }
}

/** Returns a chunk with this text in the memory of another, which must not be used afterwards. New memory takes some µs. */
export function refillChunk(chunk: Chunk, text: string): Chunk {
  // A character takes at most three bytes.
  const filled = text.length * 3 <= chunk.bytes.length ? chunk : chunkFor(text.length * 3)
  filled.length = filled.bytes.write(text)
  return filled
}

/** May touch up to three bytes behind the chunk, which `reserve` must have covered. */
export function putChunk(buffer: LineBuffer, { words, length }: Chunk): void {
  const { view, at } = buffer
  for (let index = 0; index * 4 < length; index++) view.setInt32(at + index * 4, words[index] as number, isLittleEndian)
  buffer.at = at + length
}

/** Copies bytes. `reserve` must have covered them. */
export function putBytes(buffer: LineBuffer, from: Buffer, start: number, end: number): void {
  buffer.at += from.copy(buffer.memory, buffer.at, start, end)
}

export function putDouble(buffer: LineBuffer, value: number): void {
  buffer.view.setFloat64(buffer.at, value, true)
  buffer.at += 8
}

/** Epoch milliseconds as microseconds with their unit: `1700000000000000t`. */
export function putTimestamp(buffer: LineBuffer, epochMs: number): void {
  const { memory } = buffer
  let { at } = buffer
  if (epochMs <= 0) {
    buffer.at = at + memory.write(`${epochMs * 1000}t`, at, 'latin1')
    return
  }
  let digitCount = 1
  for (let bound = 10; epochMs >= bound; bound *= 10) digitCount++
  // Two halves, so that the division runs on small integers.
  let high = Math.floor(epochMs / 1e6)
  let low = epochMs - high * 1e6
  for (let position = at + digitCount - 1; position >= at; position--) {
    const isLow = position >= at + digitCount - 6
    const rest = isLow ? low : high
    const tenth = (rest / 10) | 0
    memory[position] = zero + rest - tenth * 10
    if (isLow) low = tenth
    else high = tenth
  }
  at += digitCount
  memory[at] = zero
  memory[at + 1] = zero
  memory[at + 2] = zero
  memory[at + 3] = letterT
  buffer.at = at + 4
}

/** Closes a line with its designated timestamp. */
export function putLineEnd(buffer: LineBuffer, epochMs: number): void {
  buffer.memory[buffer.at++] = space
  putTimestamp(buffer, epochMs)
  buffer.memory[buffer.at++] = newline
}

/** A string value, quoted and escaped. `tailBytes` more are reserved behind it. */
export function putQuoted(buffer: LineBuffer, text: string, tailBytes: number): void {
  // A UTF-16 unit takes at most three bytes, an escaped one two.
  reserve(buffer, text.length * 3 + 2 + tailBytes)
  const { memory } = buffer
  let at = buffer.at
  memory[at++] = quote
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) {
      buffer.at += memory.write(`"${text.replace(/[\n\r"\\]/g, '\\$&')}"`, buffer.at, 'utf8')
      return
    }
    if (code === quote || code === backslash || code === newline || code === carriageReturn) memory[at++] = backslash
    memory[at++] = code
  }
  memory[at++] = quote
  buffer.at = at
}

/** Escapes a symbol value the way line protocol wants it outside of quotes. */
export const escapeSymbol = (text: string): string => text.replace(/[ ,=\n\r\\]/g, '\\$&')
