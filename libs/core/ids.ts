import { randomBytes } from 'node:crypto'

let lastMs = 0
let sequence = 0

/** A UUIDv7 (RFC 9562), monotonic within this process: sorts by creation time, safe as a keyset-paging key. */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = randomBytes(2).readUInt16BE() & 0x7ff
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  const bytes = randomBytes(16)
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True for any UUID spelling; a malformed id in a path is answered like an unknown one, so callers test first. */
export const isUuid = (text: string): boolean => uuidPattern.test(text)
