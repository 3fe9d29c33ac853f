import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { DeviceIdentity } from '#device-edge/gateway'
import type { TopicRule } from './topic-rules.ts'
import { createValueCollections } from './value-collections.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const device: DeviceIdentity = { kind: 'serial', value: 'SN-1' }
const ofModems: TopicRule = { pattern: 'modemmanager/{serial}/+', protocol: 'modemmanager' }
const generic = { state: 'connected' }
const state = (index: number) => ({ 'dbus-path': `/org/freedesktop/ModemManager1/Modem/${index}`, generic })
const signal = (rsrp: number) => ({ signal: { lte: { rsrp: String(rsrp) } } })

type Sent = { level?: string; modem: object; afterMs?: number; isRepeated?: boolean; rule?: TopicRule }

/** Returns the last report of each time of receipt, as modem and its members. */
async function reported(messages: Sent[]): Promise<unknown[]> {
  let nowMs = 1_000
  const deliveries: unknown[] = []
  const collections = createValueCollections(() => nowMs)
  const reports: { atMs: number; modem: Record<string, unknown> }[] = []
  for (const { level = 'all', modem, afterMs = 0, isRepeated = false, rule = ofModems } of messages) {
    nowMs += afterMs
    const body = Buffer.from(JSON.stringify({ modem }))
    const message = { topic: `modemmanager/SN-1/${level}`, payload: body, isRepeated, correlationData: undefined }
    const report = async (sent: Buffer, atMs: number) => {
      reports.push({ atMs, modem: JSON.parse(sent.toString()).modem })
      return undefined
    }
    const sent = { ...message, responseTopic: undefined, isRetained: false }
    deliveries.push(collections.deliver(device, rule, sent, body, report))
    await vi.advanceTimersByTimeAsync(0)
  }
  await vi.runAllTimersAsync()
  await Promise.all(deliveries)
  const last = new Map(reports.map(({ atMs, modem }) => [`${atMs} ${modem['dbus-path']}`, { atMs, ...modem }]))
  return [...last.values()]
}

test.each<[string, Sent[], object[]]>([
  [
    'parts without a path are of the modem before them',
    [{ modem: state(0) }, { modem: signal(-90) }, { modem: state(1) }, { modem: signal(-110) }],
    [
      { atMs: 1_000, 'dbus-path': '0', generic, ...signal(-90) },
      { atMs: 1_000, 'dbus-path': '1', generic, ...signal(-110) },
    ],
  ],
  [
    'a number at the end of the topic names the modem',
    [
      { level: '0', modem: signal(-90) },
      { level: '1', modem: signal(-110) },
      { level: '0', modem: { generic } },
    ],
    [
      { atMs: 1_000, 'dbus-path': '0', generic, ...signal(-90) },
      { atMs: 1_000, 'dbus-path': '1', ...signal(-110) },
    ],
  ],
  [
    'after two seconds, values are another sample of the same modem',
    [{ modem: state(1) }, { modem: signal(-90), afterMs: 1_999 }, { modem: signal(-91), afterMs: 1 }],
    [
      { atMs: 1_000, 'dbus-path': '1', generic, ...signal(-90) },
      { atMs: 3_000, 'dbus-path': '1', ...signal(-91) },
    ],
  ],
  [
    'a repeated message is of its first collection',
    [
      { modem: state(0) },
      { modem: signal(-90) },
      { modem: state(1), afterMs: 60_000 },
      { modem: signal(-90), isRepeated: true },
    ],
    [
      { atMs: 1_000, 'dbus-path': '0', generic, ...signal(-90) },
      { atMs: 61_000, 'dbus-path': '1', generic },
    ],
  ],
  [
    'parts before the first that names the modem are of it',
    [
      { modem: signal(-90) },
      { modem: { generic }, afterMs: 500 },
      { modem: state(2), afterMs: 500 },
      { modem: state(1) },
    ],
    [
      { atMs: 1_000, 'dbus-path': '2', generic, ...signal(-90) },
      { atMs: 2_000, 'dbus-path': '1', generic },
    ],
  ],
  [
    'a number that names the device names no modem',
    [
      {
        level: '352099001761481',
        modem: signal(-90),
        rule: { pattern: 'modemmanager/SN-1/{imei}', protocol: 'modemmanager' },
      },
    ],
    [{ atMs: 1_000, ...signal(-90) }],
  ],
])('%s', async (_, messages, reports) => {
  expect(await reported(messages)).toEqual(reports)
})
