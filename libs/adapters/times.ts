import { readNumber, unusable } from './conversions.ts'

/** The first millisecond timestamp that is not a plausible number of seconds: 1973 in ms, the year 5138 in s. */
const firstMs = 1e11

/** Returns epoch milliseconds of a timestamp in seconds or milliseconds. */
export function epochMs(value: unknown): number | typeof unusable {
  const sent = readNumber(value)
  if (typeof sent !== 'number' || sent < 0) return unusable
  return Math.trunc(sent < firstMs ? sent * 1_000 : sent)
}

const dayMs = 24 * 60 * 60 * 1_000

/** Returns the milliseconds since midnight of a time of day as `hhmmss`, with any fraction of a second; undefined if it is not valid. */
export function timeOfDayMs(text: string): number | undefined {
  const [, hours, minutes, seconds] = /^(\d\d)(\d\d)(\d\d(?:\.\d*)?)$/.exec(text) ?? []
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) >= 61) return undefined
  return Math.round((Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000)
}

/** Returns the time nearest to `nearMs` with this time of day in UTC. */
export function nearestDay(ofDayMs: number, nearMs: number): number {
  const sameDay = Math.floor(nearMs / dayMs) * dayMs + ofDayMs
  if (sameDay - nearMs > dayMs / 2) return sameDay - dayMs
  return nearMs - sameDay > dayMs / 2 ? sameDay + dayMs : sameDay
}

/** Sentences of a receiver may be out of order within this time. */
const stepBackMs = 60 * 60 * 1_000

/** Returns the first time with this time of day in UTC that follows `earlierMs`, or is a small step before it. */
export function nextDay(ofDayMs: number, earlierMs: number): number {
  const firstMs = earlierMs - stepBackMs
  const sameDay = Math.floor(firstMs / dayMs) * dayMs + ofDayMs
  return sameDay < firstMs ? sameDay + dayMs : sameDay
}

/** Returns the last time with this time of day in UTC that precedes `laterMs`, or is a small step after it. */
export function previousDay(ofDayMs: number, laterMs: number): number {
  const lastMs = laterMs + stepBackMs
  const sameDay = Math.floor(lastMs / dayMs) * dayMs + ofDayMs
  return sameDay > lastMs ? sameDay - dayMs : sameDay
}
