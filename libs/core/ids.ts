import { randomBytes, randomUUID } from 'node:crypto'

let lastMs = 0
let sequence = 0

/**
 * A UUIDv7 (RFC 9562), monotonic within this process: sorts by creation time, safe as a keyset-paging key. What is listed
 * by id stores the time of its id as its creation (`timeOfId`, `uuid_extract_timestamp` in SQL), so that both have one order: the
 * database's clock at the start of the transaction has another.
 */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = randomBytes(2).readUInt16BE() & 0x7ff
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  const time = lastMs.toString(16).padStart(12, '0')
  // A version 4 id has its variant and 62 random bits where this one needs them. Joined, since a string that was added
  // up keeps its parts for as long as it lives, which is six times as much.
  return [time.slice(0, 8), time.slice(8), (0x7000 | sequence).toString(16) + randomUUID().slice(18)].join('-')
}

/** The moment a UUIDv7 was made, to the millisecond. */
export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True for any UUID spelling; a malformed id in a path is answered like an unknown one, so callers test first. */
export const isUuid = (text: string): boolean => uuidPattern.test(text)
