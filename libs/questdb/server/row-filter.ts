/** Reads one row. Its fields begin at `at`: each has its length in four bytes, -1 for null, and then its value in binary. */
export type ReadRow = (bytes: Buffer, at: number) => void

const dataRow = 'D'.charCodeAt(0)
/** The type and the length of a message. The length counts itself, but not the type. */
const headerBytes = 5
/** Before the fields of a row: its header and the number of columns. */
const fieldsAt = headerBytes + 2

/**
 * Returns a function that takes the bytes of a PostgreSQL server as they arrive. Rows go to `readRow` without a copy, whole
 * messages of other types to `passOn`.
 */
export function createRowFilter(readRow: ReadRow, passOn: (bytes: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let at = 0
    while (at + headerBytes <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      if (end > bytes.length) break
      if (bytes[at] === dataRow) readRow(bytes, at + fieldsAt)
      else passOn(bytes.subarray(at, end))
      at = end
    }
    rest = bytes.subarray(at)
  }
}
