import { timeOfDayMs } from '../times.ts'
import type { Sentence } from './sentence.ts'

/** What a sentence says: its time and date if it has them, and its named fields. */
export type SentenceFacts = {
  ofDayMs?: number | undefined
  midnightMs?: number | undefined
  fields: Record<string, string>
}

type Reader = (fields: readonly string[]) => SentenceFacts

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
      satellites: at(f, 6),
      hdop: at(f, 7),
      altitude: at(f, 8),
    },
  }),
  RMC: (f) => ({
    ofDayMs: timeAt(f, 0),
    midnightMs: midnightOf(at(f, 8)),
    fields: { status: at(f, 1), latitude: pair(f, 2), longitude: pair(f, 4), speed: at(f, 6), course: at(f, 7) },
  }),
  GLL: (f) => ({
    ofDayMs: timeAt(f, 4),
    fields: { latitude: pair(f, 0), longitude: pair(f, 2), status: at(f, 5) },
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
export const factsOf = ({ type, fields }: Sentence): SentenceFacts | undefined =>
  Object.hasOwn(readers, type) ? readers[type]?.(fields) : undefined

/** Returns the start of the UTC day `ddmmyy`. */
function midnightOf(date: string): number | undefined {
  const [, day, month, year] = /^(\d\d)(\d\d)(\d\d)$/.exec(date) ?? []
  if (day === undefined) return undefined
  const ms = Date.UTC(2000 + Number(year), Number(month) - 1, Number(day))
  return new Date(ms).getUTCDate() === Number(day) ? ms : undefined
}

function horizontalError(latitude: string, longitude: string): string {
  if (latitude === '' || longitude === '') return ''
  const metres = Math.hypot(Number(latitude), Number(longitude))
  return Number.isFinite(metres) ? metres.toFixed(2) : ''
}
