import { LRUCache } from 'lru-cache'
import { createObjectBoundaries, positionObject } from '#adapters/gpsd/moments'
import { factsOf } from '#adapters/nmea/fields'
import { createMomentBoundaries, createStreamDate } from '#adapters/nmea/moments'
import { parseSentence } from '#adapters/nmea/sentence'
import type { PositionProtocol } from './protocol.ts'

/** The lines of one time of a device. */
export type Moment = {
  /** The time of its lines in ms: of the day (NMEA), or since 1970. Undefined if they have none. */
  timeMs: number | undefined
  midnightMs: number | undefined
  lines: string[]
  receivedAtMs: number
  /** A line that has the date of the stream before this moment. Undefined if the stream has none. */
  dateLine: string | undefined
}

/** The newest moments of a device that have a time, for lines that come late or over another connection. */
export type RecentMoments = Moment[]

/** Returns the newest moments of a device and protocol. */
export type RecentOf = (key: string) => RecentMoments

const maxDevices = 5_000

/** Keeps the newest moments of the devices that have sent lines last. */
export function createRecentMoments(): RecentOf {
  const byDevice = new LRUCache<string, RecentMoments>({ max: maxDevices })
  return (key) => {
    const recent = byDevice.get(key) ?? []
    byDevice.set(key, recent)
    return recent
  }
}

export type MomentStream = {
  /** Adds a line, and returns its moment. Call it with each line in order. */
  add(line: string): Moment
  /** Ends the present moment. Only a line of its own time is added to it afterwards. */
  end(): void
}

type ReadLine = {
  /** The line begins another moment of the stream. */
  begins: boolean
  timeMs?: number | undefined
  midnightMs?: number | undefined
  dateLine?: string | undefined
}

/** A moment of more lines is none: its receiver sends no time. */
const maxMomentLines = 100
const maxMomentCharacters = 32 * 1024
/** How late a line can come: after the first line of its moment, and in the time of the stream. */
const lateMs = 10_000
const maxRecent = 4

/**
 * Joins the lines of a stream into moments. A line whose time is that of a recent moment is added to that moment: it was late, or
 * came over another connection. `recent` is shared by all streams of one device and protocol.
 */
export function createMomentStream(
  protocol: PositionProtocol,
  recent: RecentMoments,
  nowMs: () => number,
): MomentStream {
  const read = createReader(protocol, nowMs)
  let current: Moment | undefined
  let lastMs: number | undefined

  const isOpen = ({ lines }: Moment) =>
    lines.length < maxMomentLines && lines.reduce((sum, line) => sum + line.length, 0) < maxMomentCharacters
  const isSame = (one: number | undefined, other: number | undefined) =>
    one === undefined || other === undefined || one === other
  const isRecent = (moment: Moment) =>
    nowMs() - moment.receivedAtMs < lateMs && Math.abs((moment.timeMs ?? 0) - (lastMs ?? moment.timeMs ?? 0)) < lateMs

  function momentOf({ timeMs, midnightMs, dateLine }: ReadLine): Moment {
    const isOfLine = (moment: Moment) => moment.timeMs === timeMs && isSame(moment.midnightMs, midnightMs)
    const known = recent.find((moment) => isOfLine(moment) && isRecent(moment) && isOpen(moment))
    if (known && timeMs !== undefined) return known
    const moment: Moment = { timeMs, midnightMs, lines: [], receivedAtMs: nowMs(), dateLine }
    recent.push(moment)
    if (recent.length > maxRecent) recent.shift()
    return moment
  }

  return {
    add(line) {
      const sent = read(line)
      if (sent.begins || !current || !isOpen(current)) current = momentOf(sent)
      current.timeMs ??= sent.timeMs
      current.midnightMs ??= sent.midnightMs
      lastMs = sent.timeMs ?? lastMs
      // A broker can deliver a line again.
      if (!current.lines.includes(line)) current.lines.push(line)
      return current
    },
    end: () => {
      current = undefined
    },
  }
}

/** Returns the lines of a moment, after the date that they need. */
export const datedLines = ({ timeMs, midnightMs, dateLine, lines }: Moment): string[] =>
  timeMs === undefined || midnightMs !== undefined || dateLine === undefined ? lines : [dateLine, ...lines]

/** Returns whether a line says something about a position. */
export function isPartOfMoment(protocol: PositionProtocol, line: string): boolean {
  switch (protocol) {
    case 'cradlepoint':
      return false
    case 'gpsd':
      return positionObject(line) !== undefined
    case 'nmea':
      return readSentence(line) !== undefined
  }
}

function readSentence(line: string) {
  const sentence = parseSentence(line)
  if (sentence === 'proprietary' || 'reason' in sentence) return undefined
  const facts = factsOf(sentence)
  return facts && { type: sentence.type, ...facts }
}

/** Creates the reader of a protocol. A line of Cradlepoint is a moment of its own. */
function createReader(protocol: PositionProtocol, nowMs: () => number): (line: string) => ReadLine {
  switch (protocol) {
    case 'cradlepoint':
      return () => ({ begins: true })
    case 'gpsd': {
      const boundaryOf = createObjectBoundaries()
      return (line) => {
        const { begins, time } = boundaryOf(line)
        const timeMs = Date.parse(time ?? '')
        return { begins, timeMs: Number.isFinite(timeMs) ? timeMs : undefined }
      }
    }
    case 'nmea': {
      const [begins, date] = [createMomentBoundaries(), createStreamDate(nowMs)]
      return (line) => {
        const sentence = readSentence(line)
        if (!sentence) return { begins: false }
        const dateLine = date.sentence()
        date.add(sentence)
        const { ofDayMs, midnightMs } = sentence
        return { begins: begins(sentence), timeMs: ofDayMs, midnightMs, dateLine }
      }
    }
  }
}
