import { timeOfDayMs } from '../times.ts'
import type { Sentence } from './sentence.ts'

/** What a sentence says: its time and date if it has them, and its named fields. */
export type SentenceFacts = {
  /** Sentences of this type have a time. It is empty while the receiver does not know the time. */
  isTimed: boolean
  ofDayMs?: number | undefined
  midnightMs?: number | undefined
  fields: Record<string, string>
}

type Reader = (fields: readonly string[]) => Omit<SentenceFacts, 'isTimed'>

const at = (fields: readonly string[], index: number): string => fields[index]?.trim() ?? ''
const pair = (fields: readonly string[], index: number): string => `${at(fields, index)},${at(fields, index + 1)}`
const timeAt = (fields: readonly string[], index: number) => timeOfDayMs(at(fields, index))

const readers: Readonly<Record<string, Reader>> = {
  GGA: (f) => ({
    ofDayMs: timeAt(f, 0),
    fields: {
      latitude: pair(f, 1),
      longitude: pair(f, 3),
      quality: at(f, 5),
      satellites: at(f, 6),
      hdop: at(f, 7),
      altitude: at(f, 8),
    },
  }),
  GNS: (f) => ({
    ofDayMs: timeAt(f, 0),
    fields: {
      latitude: pair(f, 1),
      longitude: pair(f, 3),
      mode: commonMode(at(f, 5)),
      satellites: at(f, 6),
      hdop: at(f, 7),
      altitude: at(f, 8),
    },
  }),
  RMC: (f) => ({
    ofDayMs: timeAt(f, 0),
    midnightMs: midnightOf(at(f, 8)),
    fields: {
      status: at(f, 1),
      latitude: pair(f, 2),
      longitude: pair(f, 4),
      speed: at(f, 6),
      course: at(f, 7),
      mode: at(f, 11),
    },
  }),
  GLL: (f) => ({
    ofDayMs: timeAt(f, 4),
    fields: { latitude: pair(f, 0), longitude: pair(f, 2), status: at(f, 5), mode: at(f, 6) },
  }),
  // One of these per constellation. The horizontal dilution is before the last or, with a system id, before the last two.
  GSA: (f) => ({ fields: { fix: at(f, 1), hdop: at(f, 15) } }),
  VTG: (f) => ({ fields: { course: at(f, 0), speed: at(f, 4) } }),
  GST: (f) => ({ ofDayMs: timeAt(f, 0), fields: { error: horizontalError(at(f, 5), at(f, 6)) } }),
  ZDA: (f) => ({
    ofDayMs: timeAt(f, 0),
    midnightMs: midnightOf(`${at(f, 1)}${at(f, 2)}${at(f, 3).slice(-2)}`),
    fields: {},
  }),
}

/** Returns the facts of a sentence; undefined if its type is not read. */
export function factsOf({ type, fields }: Sentence): SentenceFacts | undefined {
  const facts = Object.hasOwn(readers, type) ? readers[type]?.(fields) : undefined
  return facts && { isTimed: 'ofDayMs' in facts, ...facts }
}

/** Returns the start of the UTC day `ddmmyy`. */
function midnightOf(date: string): number | undefined {
  const [, day, month, year] = /^(\d\d)(\d\d)(\d\d)$/.exec(date) ?? []
  if (day === undefined) return undefined
  // GPS began in 1980.
  const century = Number(year) >= 80 ? 1900 : 2000
  const ms = Date.UTC(century + Number(year), Number(month) - 1, Number(day))
  return new Date(ms).getUTCDate() === Number(day) ? ms : undefined
}

/** The error in metres; a word that is no number if the receiver does not know it. */
function horizontalError(latitude: string, longitude: string): string {
  if (latitude === '' || longitude === '') return ''
  const metres = Math.hypot(Number(latitude), Number(longitude))
  return Number.isFinite(metres) ? metres.toFixed(2) : 'unknown'
}

/** One mode for the letters of the constellations: N if none has a position, and the letters themselves if one is unknown. */
function commonMode(letters: string): string {
  if (/^N+$/i.test(letters)) return 'N'
  return /^[ADEFMNPRS]*$/i.test(letters) ? '' : letters
}
