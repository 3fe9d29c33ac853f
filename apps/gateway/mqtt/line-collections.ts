import { LRUCache } from 'lru-cache'
import { adapterOf } from '#adapters/adapters'
import { linesOf } from '#adapters/lines'
import { type DeviceIdentity, identityHeader } from '#device-edge/gateway'
import type { Delivered } from '../delivery.ts'
import {
  createMomentStream,
  createRecentMoments,
  datedLines,
  isPartOfMoment,
  type Moment,
  type MomentStream,
} from '../moments.ts'
import { type LimitedWait, waitAtMost } from './limited-wait.ts'
import { createReportTurns, type ReportTurns } from './report-turns.ts'
import type { TopicRule } from './topic-rules.ts'

/**
 * The sentences or objects of one device. `pending`: its moments that have lines which are not reported yet. `reported`: the last
 * report. `waiting`: set while lines wait for others of their moment.
 */
type Lines = {
  stream: MomentStream
  pending: Set<Moment>
  turns: ReportTurns
  reported: Promise<Delivered | undefined>
  waiting: LimitedWait | undefined
}

type Report = (body: Buffer, receivedAtMs: number) => Promise<Delivered | undefined>

export type LineCollections = {
  /**
   * Reports the lines of a message together with the earlier lines of their moments. Returns undefined if the message must be
   * reported alone.
   */
  deliver(
    device: DeviceIdentity,
    rule: TopicRule,
    body: Buffer,
    report: Report,
  ): Promise<Delivered | undefined> | undefined
}

const maxDevices = 5_000
/** A message with more lines is an upload, which has its moments whole. */
const maxLines = 100
const maxLineCharacters = 8 * 1024
/**
 * How long lines that say nothing alone wait for others of their moment. Short, because a broker that delivers one message at a
 * time must keep up.
 */
const waitMs = 500

/**
 * Joins publishers of one sentence of NMEA or one object of gpsd a message. As with values, each message is reported at once, with all
 * lines of its moment: the service stores one row, which each report replaces by a fuller one. Only lines that say nothing without
 * others of their moment wait for these.
 */
export function createLineCollections(nowMs: () => number): LineCollections {
  const recentOf = createRecentMoments()
  const devices = new LRUCache<string, Lines>({ max: maxDevices })

  return {
    deliver(device, { protocol }, body, report) {
      if (protocol !== 'nmea' && protocol !== 'gpsd') return undefined
      const lines = linesOf(body.toString('utf8'))
        .map((line) => line.trim())
        .filter((line) => line !== '')
      const isCollected = (line: string) => line.length <= maxLineCharacters && isPartOfMoment(protocol, line)
      if (lines.length > maxLines || !lines.every(isCollected)) return undefined
      const key = `${protocol} ${identityHeader(device)}`
      const known = devices.get(key) ?? {
        stream: createMomentStream(protocol, recentOf(key), nowMs),
        pending: new Set(),
        turns: createReportTurns(),
        reported: Promise.resolve(undefined),
        waiting: undefined,
      }
      devices.set(key, known)
      const added = new Set(lines.map((line) => known.stream.add(line)))
      for (const moment of added) known.pending.add(moment)
      const reportPending = () =>
        known.turns(() => {
          const moments = [...known.pending]
          // The lines of this message were in the report of a later one.
          if (moments.length === 0) return known.reported
          known.pending.clear()
          const receivedAtMs = Math.max(...moments.map((moment) => moment.receivedAtMs))
          known.reported = report(Buffer.from(moments.flatMap(datedLines).join('\n')), receivedAtMs)
          return known.reported
        })
      // The service refuses lines that say nothing alone, such as VTG or SKY. A cycle can begin with them.
      if (!isUnderstood(protocol, [...added].flatMap(datedLines), nowMs())) {
        known.waiting ??= waitAtMost(waitMs, () => {
          known.waiting = undefined
        })
        return known.waiting.until.then(reportPending)
      }
      known.waiting?.end()
      known.waiting = undefined
      return reportPending()
    },
  }
}

/** Returns whether the service accepts these lines. */
const isUnderstood = (protocol: 'nmea' | 'gpsd', lines: readonly string[], receivedAtMs: number): boolean =>
  adapterOf(protocol).translate(
    Buffer.from(lines.join('\n')),
    { path: '', query: '', authorization: undefined, mediaType: '' },
    receivedAtMs,
  ).ok
