import { linesOf } from '#adapters/lines'

/** A line longer than this is no sentence and no object of gpsd. */
export const maxLineBytes = 8 * 1024

export type LineReader = {
  /** Returns the complete lines. Throws a RangeError if a line is too long. */
  read(chunk: Buffer): string[]
}

/** Splits a stream into lines, of which it keeps at most one incomplete one. */
export function createLineReader(): LineReader {
  let rest = Buffer.alloc(0)
  return {
    read(chunk) {
      const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
      rest = Buffer.from(text.subarray(end + 1))
      const lines = end < 0 ? [] : linesOf(text.toString('utf8', 0, end))
      if (rest.length > maxLineBytes || lines.some((line) => line.length > maxLineBytes)) {
        throw new RangeError(`A line has more than ${maxLineBytes} bytes.`)
      }
      return lines.map((line) => line.trim()).filter((line) => line !== '')
    },
  }
}
