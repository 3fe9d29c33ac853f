import { LRUCache } from 'lru-cache'
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
import { createReportTurns, type ReportTurns } from './report-turns.ts'
import type { TopicRule } from './topic-rules.ts'

/** The sentences or objects of one device. `pending`: its moments that have lines which are not reported yet. */
type Lines = { stream: MomentStream; pending: Set<Moment>; turns: ReportTurns }

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
 * Joins publishers of one sentence of NMEA or one object of gpsd a message. As with values, each message is reported at once, with all
 * lines of its moment: the service stores one row, which each report replaces by a fuller one.
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
      }
      devices.set(key, known)
      for (const line of lines) known.pending.add(known.stream.add(line))
      return known.turns(() => {
        const moments = [...known.pending]
        known.pending.clear()
        const receivedAtMs = Math.max(...moments.map((moment) => moment.receivedAtMs))
        return report(Buffer.from(moments.flatMap(datedLines).join('\n')), receivedAtMs)
      })
    },
  }
}
