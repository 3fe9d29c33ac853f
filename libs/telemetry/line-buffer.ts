/** A growing byte buffer with the few primitives line protocol is made of. */
export type LineBuffer = {
  bytes: (part: Uint8Array) => void
  double: (value: number) => void
  /** Epoch milliseconds as microseconds with their unit: `1700000000000000t`. */
  timestamp: (epochMs: number) => void
  /** A string value, quoted and escaped. */
  quoted: (text: string) => void
  /** Closes a line with its designated timestamp. */
  endLine: (epochMs: number) => void
  size: () => number
  /** What has been written; shares memory with the buffer, which must not be used again. */
  contents: () => Buffer
}

const space = 0x20
const newline = 0x0a
const carriageReturn = 0x0d
const quote = 0x22
const backslash = 0x5c
const zero = 0x30
const letterT = 0x74

/** Escapes a symbol value (or a table or column name) the way line protocol wants it outside of quotes. */
export const escapeName = (text: string): string => text.replace(/[ ,=\n\r\\]/g, '\\$&')

/** Room for anything of fixed size: a double, a time, quotes. */
const slack = 64

export function createLineBuffer(initialBytes: number): LineBuffer {
  let memory = Buffer.allocUnsafeSlow(initialBytes)
  let view = new DataView(memory.buffer)
  let at = 0

  const reserve = (length: number) => {
    const needed = at + length + slack
    if (needed <= memory.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(memory.length * 2, needed))
    memory.copy(larger, 0, 0, at)
    memory = larger
    view = new DataView(memory.buffer)
  }

  const writeDigits = (value: number) => {
    let rest = value
    let digitCount = 1
    for (let bound = 10; rest >= bound; bound *= 10) digitCount++
    for (let position = at + digitCount - 1; position >= at; position--) {
      const tenth = Math.floor(rest / 10)
      memory[position] = zero + rest - tenth * 10
      rest = tenth
    }
    at += digitCount
  }

  const writeTimestamp = (epochMs: number) => {
    reserve(0)
    if (epochMs > 0) {
      writeDigits(epochMs)
      memory[at++] = zero
      memory[at++] = zero
      memory[at++] = zero
    } else at += memory.write(String(epochMs * 1000), at, 'latin1')
    memory[at++] = letterT
  }

  return {
    bytes: (part) => {
      reserve(part.length)
      // Parts are a dozen bytes: a loop beats the call behind `set`.
      for (let index = 0; index < part.length; index++) memory[at + index] = part[index] as number
      at += part.length
    },
    double: (value) => {
      reserve(0)
      view.setFloat64(at, value, true)
      at += 8
    },
    timestamp: writeTimestamp,
    quoted: (text) => {
      // A UTF-16 unit takes at most three bytes, an escaped one two.
      reserve(text.length * 3)
      const start = at
      memory[at++] = quote
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index)
        if (code > 0x7f) {
          at = start
          at += memory.write(`"${text.replace(/[\n\r"\\]/g, '\\$&')}"`, at)
          return
        }
        if (code === quote || code === backslash || code === newline || code === carriageReturn)
          memory[at++] = backslash
        memory[at++] = code
      }
      memory[at++] = quote
    },
    endLine: (epochMs) => {
      reserve(0)
      memory[at++] = space
      writeTimestamp(epochMs)
      memory[at++] = newline
    },
    size: () => at,
    contents: () => memory.subarray(0, at),
  }
}
