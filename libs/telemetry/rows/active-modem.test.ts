import { expect, test } from 'vitest'
import { activeModem, type ModemReports } from './active-modem.ts'

const minuteMs = 60_000
const nowMs = Date.UTC(2026, 4, 4)
const ago = (minutes: number | null) => (minutes === null ? null : nowMs - minutes * minuteMs)

/** The times are minutes ago. */
const modem = (name: string | null, connected: number | null, served: number | null, newest: number): ModemReports => ({
  modem: name,
  connectedMs: ago(connected),
  servedMs: ago(served),
  newestMs: nowMs - newest * minuteMs,
})

test.each([
  ['the modem that was connected last', [modem('a', 3, 1, 1), modem('b', 2, 5, 2)], 'b'],
  ['a connected modem before one with newer service', [modem('a', null, 1, 1), modem('b', 15, null, 15)], 'b'],
  ['no modem whose connection is over 15 minutes old', [modem('a', 15.1, 20, 15.1), modem('b', null, 18, 1)], 'b'],
  ['the modem that had service last', [modem('a', null, null, 1), modem('b', null, 6, 6), modem('c', null, 5, 5)], 'c'],
  ['without service the modem that reported last', [modem('a', null, null, 9), modem('b', null, null, 8)], 'b'],
  ['of equals the first by name', [modem('b', 1, 1, 1), modem('a', 1, 1, 1)], 'a'],
  ['of equals the one without a name', [modem('a', 1, 1, 1), modem(null, 1, 1, 1)], null],
  ['no wired uplink, which has no name', [modem('a', null, 3, 3), modem(null, 1, null, 1)], 'a'],
  ['no wired uplink, also without service', [modem('a', null, null, 3), modem(null, 1, null, 1)], 'a'],
  ['no wired uplink of a router that has named its modem since', [modem('a', 2, 3, 2), modem(null, 1, 60, 1)], 'a'],
])('the active modem is %s', (_, modems, expected) => {
  expect(activeModem(modems, nowMs)?.modem).toBe(expected)
})

test('a device without modems has no active one', () => {
  expect(activeModem([], nowMs)).toBeUndefined()
})
