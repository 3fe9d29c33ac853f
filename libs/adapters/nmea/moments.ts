import { isPlausible, rolloversUndone } from '../clock.ts'
import { nearestDay, nextDay, previousDay } from '../times.ts'
import type { SentenceFacts } from './fields.ts'
import { withChecksum } from './sentence.ts'

/** The sentences of one time of day, and the date that one of them has. */
export type NmeaMoment = {
  ofDayMs: number | undefined
  midnightMs: number | undefined
  /** The fields of each type of sentence. */
  sentences: Record<string, Record<string, string>>
}

/** What decides whether a sentence belongs to the moment before it. */
type Timed = Omit<SentenceFacts, 'fields'> & { type: string }

/**
 * Returns a function that is called with each sentence of a stream, and returns whether the sentence begins another moment. A
 * sentence without a time belongs to the moment before it, unless the moment has its type already: a receiver that does not know
 * the time repeats its sentences without one, and one whose cycle begins with GSA or VTG sends them before the time. Only GSA of
 * several constellations follow each other, and sentences that repeat the time can be of another day.
 */
export function createMomentBoundaries(): (sentence: Timed) => boolean {
  let current: Pick<SentenceFacts, 'ofDayMs' | 'midnightMs'> = {}
  let types = new Set<string>()
  let lastType = ''
  let isTimeRepeated = false
  const differs = (sent: number | undefined, known: number | undefined) =>
    sent !== undefined && known !== undefined && sent !== known
  return ({ type, isTimed, ofDayMs, midnightMs }) => {
    const isLater = differs(ofDayMs, current.ofDayMs) || differs(midnightMs, current.midnightMs)
    const isKnown = types.has(type)
    const isRepeated = isKnown && (isTimed ? ofDayMs === undefined : type !== lastType && !isTimeRepeated)
    const begins = isLater || isRepeated
    if (begins) {
      types = new Set()
      current = {}
    }
    isTimeRepeated = !begins && (isTimeRepeated || (isKnown && isTimed))
    lastType = type
    current = { ofDayMs: current.ofDayMs ?? ofDayMs, midnightMs: current.midnightMs ?? midnightMs }
    types.add(type)
    return begins
  }
}

/** The date of a stream, which later reports of the stream need for sentences without one. */
export type StreamDate = {
  /** A sentence with the date and time of the last sentence. Undefined as long as the stream has no date. */
  sentence(): string | undefined
  /** Call it with each sentence in order. */
  add(facts: Pick<SentenceFacts, 'ofDayMs' | 'midnightMs'>): void
}

/** Follows the date of a stream over midnights. A date that cannot be right is not used. */
export function createStreamDate(nowMs: () => number): StreamDate {
  let lastMs: number | undefined
  return {
    sentence() {
      const [year, month, day, time] = lastMs === undefined ? [] : new Date(lastMs).toISOString().split(/[-TZ]/)
      return time && withChecksum(`GPZDA,${time.replaceAll(':', '')},${day},${month},${year},,`)
    },
    add({ ofDayMs, midnightMs }) {
      if (ofDayMs === undefined) return
      if (midnightMs === undefined) {
        if (lastMs !== undefined) lastMs = nearestDay(ofDayMs, lastMs)
        return
      }
      const sentMs = midnightMs + ofDayMs
      const dateMs = rolloversUndone([sentMs], nowMs())(sentMs)
      if (isPlausible(dateMs, nowMs())) lastMs = dateMs
    },
  }
}

/** Joins the sentences of an upload into moments, in the order of the upload. */
export function createMoments(): {
  add(type: string, facts: SentenceFacts): void
  list(): readonly NmeaMoment[]
} {
  const begins = createMomentBoundaries()
  const moments: NmeaMoment[] = []
  /** What the present moment has again: if another date follows with the same time of day, it is of that date. */
  let again: NmeaMoment['sentences'] = {}
  function next({ ofDayMs, midnightMs }: Omit<Timed, 'type'>): NmeaMoment {
    const last = moments.at(-1)
    const isOtherDay = midnightMs !== undefined && ofDayMs !== undefined && last?.ofDayMs === ofDayMs
    const moment = { ofDayMs: undefined, midnightMs: undefined, sentences: isOtherDay ? again : {} }
    moments.push(moment)
    again = {}
    return moment
  }
  return {
    add(type, { fields, ...timed }) {
      const { ofDayMs, midnightMs, isTimed } = timed
      const moment = (begins({ type, ...timed }) ? undefined : moments.at(-1)) ?? next(timed)
      moment.ofDayMs ??= ofDayMs
      moment.midnightMs ??= midnightMs
      if (Object.keys(fields).length === 0) return
      const isRepeating = Object.keys(again).length > 0 || (isTimed && moment.sentences[type] !== undefined)
      if (isRepeating) again[type] ??= fields
      // Of several constellations, the first sentence of a type has the position.
      moment.sentences[type] ??= fields
    },
    list: () => moments,
  }
}

/**
 * Returns the time of each moment. A moment has its own date, else that of the moment before it or the day after, so that a pause
 * may be longer than half a day. If no moment before has a date, it goes back from the one after it. Without any date, the last
 * moment is on the day nearest to the receipt. A date that cannot be right only dates its own moment.
 */
export function timesOf(moments: readonly NmeaMoment[], receivedAtMs: number): (number | undefined)[] {
  const own = moments.map(({ ofDayMs, midnightMs }) =>
    ofDayMs === undefined || midnightMs === undefined ? undefined : midnightMs + ofDayMs,
  )
  const undone = rolloversUndone(
    own.filter((ms) => ms !== undefined),
    receivedAtMs,
  )
  const trusted = own.map((ownMs) => {
    const ms = ownMs === undefined ? undefined : undone(ownMs)
    return ms !== undefined && isPlausible(ms, receivedAtMs) ? ms : undefined
  })
  const times: (number | undefined)[] = [...own]
  const firstDated = trusted.findIndex((ms) => ms !== undefined)
  const dateFrom = (index: number, nearMs: number, dayOf: typeof nearestDay): number => {
    const { ofDayMs } = moments[index] ?? {}
    if (ofDayMs === undefined) return trusted[index] ?? nearMs
    times[index] ??= dayOf(ofDayMs, nearMs)
    return trusted[index] ?? (own[index] === undefined ? (times[index] ?? nearMs) : nearMs)
  }
  // A day after the receipt means that the sentences are out of order.
  const following = (ofDayMs: number, earlierMs: number): number => {
    const nextMs = nextDay(ofDayMs, earlierMs)
    return isPlausible(nextMs, receivedAtMs) ? nextMs : nearestDay(ofDayMs, earlierMs)
  }
  const firstMs = trusted[firstDated]
  let nearMs = firstMs ?? receivedAtMs
  const undated = firstDated < 0 ? moments.length : firstDated
  for (let index = undated - 1; index >= 0; index--)
    nearMs = dateFrom(index, nearMs, nearMs === receivedAtMs && firstMs === undefined ? nearestDay : previousDay)
  nearMs = firstMs ?? receivedAtMs
  for (let index = Math.max(0, firstDated); index < moments.length; index++) nearMs = dateFrom(index, nearMs, following)
  return times
}
