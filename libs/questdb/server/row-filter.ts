/** Reads one row. Its fields begin at `at`: each has its length in four bytes, -1 for null, and then its value in binary. */
export type ReadRow = (bytes: Buffer, at: number) => void

const dataRow = 'D'.charCodeAt(0)
/** The type and the length of a message. The length counts itself, but not the type. */
const headerBytes = 5
/** Before the fields of a row: its header and the number of columns. */
const fieldsAt = headerBytes + 2

/**
 * Returns a function that takes the bytes of a PostgreSQL server as they arrive. Rows go to `readRow` without a copy, whole
 * messages of other types to `passOn`. Only a message that is cut is copied, so that chunks become free at once.
 */
export function createRowFilter(readRow: ReadRow, passOn: (bytes: Buffer) => void): (chunk: Buffer) => void {
  /** The first `cutBytes` of a message that is cut. */
  let cut = Buffer.alloc(256)
  let cutBytes = 0

  /** Extends the cut message to `length` bytes, or as far as the chunk goes. Returns the bytes that it took from the chunk. */
  function extendCut(chunk: Buffer, at: number, length: number): number {
    if (length > cut.length) cut = Buffer.concat([cut.subarray(0, cutBytes)], 2 * length)
    const taken = Math.min(chunk.length - at, length - cutBytes)
    if (taken > 0) chunk.copy(cut, cutBytes, at, at + taken)
    cutBytes += Math.max(0, taken)
    return Math.max(0, taken)
  }

  function use(bytes: Buffer, at: number, end: number): void {
    if (bytes[at] === dataRow) readRow(bytes, at + fieldsAt)
    else passOn(bytes.subarray(at, end))
  }

  /** Uses the cut message if the chunk has the rest of it. Returns the bytes that it took from the chunk. */
  function endCut(chunk: Buffer): number {
    if (cutBytes === 0) return 0
    let at = extendCut(chunk, 0, headerBytes)
    if (cutBytes < headerBytes) return at
    const length = lengthAt(cut, 0)
    at += extendCut(chunk, at, length)
    if (cutBytes < length) return at
    cutBytes = 0
    // A reader may keep a message of another type.
    use(cut[0] === dataRow ? cut : Buffer.from(cut.subarray(0, length)), 0, length)
    return at
  }

  return (chunk) => {
    let at = endCut(chunk)
    while (at + headerBytes <= chunk.length) {
      const end = at + lengthAt(chunk, at)
      if (end > chunk.length) break
      use(chunk, at, end)
      at = end
    }
    if (at < chunk.length) extendCut(chunk, at, chunk.length - at)
  }
}

const lengthAt = (bytes: Buffer, at: number): number => 1 + bytes.readUInt32BE(at + 1)
