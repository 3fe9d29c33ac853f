import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { withChecksum } from '#adapters/nmea/sentence'
import type { DeviceIdentity } from '#device-edge/gateway'
import type { Delivered } from '../delivery.ts'
import { createLineCollections } from './line-collections.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const device: DeviceIdentity = { kind: 'serial', value: 'SN-1' }
const [vtg, gsa] = ['GNVTG,45.0,T,,M,12.3,N,22.8,K,A', 'GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1'].map(withChecksum)
const gga = (second: number) => withChecksum(`GNGGA,10000${second}.00,5000.0000,N,00800.0000,W,1,08,0.9,5,M,46.9,M,,`)
const sky = JSON.stringify({ class: 'SKY', hdop: 1.1 })
const tpv = JSON.stringify({ class: 'TPV', mode: 3, lat: 50, lon: 8, time: '2026-11-24T10:00:00.000Z' })

/** Delivers messages of one line each, and returns the lines of each report, and how many messages have an answer. */
async function deliver(protocol: 'nmea' | 'gpsd', lines: readonly (string | undefined)[], afterMs: number) {
  const collections = createLineCollections(() => Date.UTC(2026, 10, 24, 10))
  const reports: string[][] = []
  let answered = 0
  const accepted: Delivered = {
    outcome: 'accepted',
    answer: { status: 200, isOverRate: false, retryAfterMs: undefined, body: { accepted: 1 } },
  }
  for (const line of lines) {
    const report = async (body: Buffer) => {
      reports.push(body.toString().split('\n'))
      return accepted
    }
    void collections.deliver(device, { pattern: '', protocol }, Buffer.from(line ?? ''), report)?.then((delivered) => {
      if (delivered === accepted) answered += 1
    })
    await vi.advanceTimersByTimeAsync(0)
  }
  await vi.advanceTimersByTimeAsync(afterMs)
  return { reports, answered }
}

test.each([
  ['sentences without a time wait for one with', 'nmea', [vtg, gsa, gga(1)], [[vtg, gsa, gga(1)]]],
  ['a sentence after its time does not wait', 'nmea', [gga(1), vtg], [[gga(1)], [gga(1), vtg]]],
  [
    'those of the next cycle wait again',
    'nmea',
    [vtg, gga(1), vtg, gga(2)],
    [
      [vtg, gga(1)],
      [vtg, gga(2)],
    ],
  ],
  ['satellites wait for the position', 'gpsd', [sky, tpv], [[sky, tpv]]],
] as const)('%s', async (_, protocol, lines, expected) => {
  const { reports, answered } = await deliver(protocol, lines, 0)
  expect(reports).toEqual(expected)
  expect(answered).toBe(lines.length)
})

test('lines that nothing follows are reported alone after half a second', async () => {
  expect(await deliver('nmea', [vtg, gsa], 499)).toEqual({ reports: [], answered: 0 })
  expect(await deliver('nmea', [vtg, gsa], 500)).toEqual({ reports: [[vtg, gsa]], answered: 2 })
})
