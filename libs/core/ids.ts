import { randomUUID } from 'node:crypto'

let lastMs = 0
let sequence = 0

/** The clock of a machine was wrong if it is set back by more than this. Ids follow it, so that later times are right. */
const maxStepBackMs = 10_000

/**
 * Returns a UUIDv7 (RFC 9562) that is monotonic within this process, unless its clock is set back by more than 10 s. It sorts
 * by creation time and is safe as a paging key.
 * Tables listed by id take their creation time from the id (`timeOfId`, `uuid_extract_timestamp` in SQL), so that both have
 * the same order; `now()` in SQL is the start of the transaction and would differ.
 */
export function newId(nowMs: number = Date.now()): string {
  // Node keeps random bits for many of these; `randomBytes` would ask the kernel each time.
  const random = randomUUID()
  if (nowMs > lastMs || nowMs < lastMs - maxStepBackMs) {
    lastMs = nowMs
    sequence = Number.parseInt(random.slice(0, 3), 16) & 0x7ff
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  const time = lastMs.toString(16).padStart(12, '0')
  // A version 4 id has the variant and 62 random bits in the right place. `join`, because a concatenated string keeps its
  // parts in memory, which takes six times as much.
  return [time.slice(0, 8), time.slice(8), (0x7000 | sequence).toString(16) + random.slice(18)].join('-')
}

/** The time at which a UUIDv7 was created, in milliseconds. */
export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

/** A bound for ids in SQL: all UUIDv7 that were created before this time are less. */
export function idsBefore(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True for a UUID in any case. A malformed id in a path is treated as an unknown one, so callers check it first. */
export const isUuid = (text: string): boolean => uuidPattern.test(text)
