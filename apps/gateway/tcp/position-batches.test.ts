import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRecentMoments } from '../moments.ts'
import { createPositionBatches } from './position-batches.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const device = { kind: 'serial', value: 'SN-1' } as const

/** Returns the sentence with its checksum. */
function sentence(text: string): string {
  let sum = 0
  for (const character of text) sum ^= character.charCodeAt(0)
  return `$${text}*${sum.toString(16).padStart(2, '0').toUpperCase()}`
}

/** Collects the lines of each complete moment, as they would be sent at once. */
function collect(recentOf = createRecentMoments()) {
  const complete: string[][] = []
  const batches = createPositionBatches({
    recentOf,
    nowMs: () => Date.UTC(2026, 10, 24, 10),
    isSending: () => false,
    onComplete() {
      complete.push(batches.first()?.lines ?? [])
      batches.shift()
    },
  })
  return { batches, complete }
}

const cycle = (time: string) => [
  sentence(`GNRMC,${time},A,5000.0000,N,00800.0000,W,12.3,45.0,241126,,,A`),
  sentence('GNVTG,45.0,T,,M,12.3,N,22.8,K,A'),
  sentence(`GNGGA,${time},5000.0000,N,00800.0000,W,1,08,0.9,5,M,46.9,M,,`),
  sentence('GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1'),
  sentence(`GNGLL,5000.0000,N,00800.0000,W,${time},A,A`),
]

test.each([1_000, 990, 1_015])('every moment of a receiver that sends each %d ms is complete', (everyMs) => {
  const { batches, complete } = collect()
  const moments = Array.from({ length: 40 }, (_, index) => cycle(`10${String(index).padStart(2, '0')}00.00`))
  for (const moment of moments) {
    for (const line of moment) {
      batches.add('nmea', device, line)
      vi.advanceTimersByTime(12)
    }
    vi.advanceTimersByTime(everyMs - 60)
  }
  expect(complete).toEqual(moments.slice(0, -1))
  vi.advanceTimersByTime(1_000)
  expect(complete).toHaveLength(39)
  vi.advanceTimersByTime(1_060)
  expect(complete).toEqual(moments)
})

test.each([[[1, 3, 2, 0, 4]], [[3, 2, 1, 0, 4]], [[4, 3, 0, 1, 2]], [[2, 4, 1, 3, 0]]])(
  'every moment is complete with its sentences in the order %j',
  (order) => {
    const { batches, complete } = collect()
    const moments = ['100000.00', '100001.00', '100002.00'].map((time) => {
      const lines = cycle(time)
      // Each moment has another speed.
      const vtg = sentence(`GNVTG,45.0,T,,M,${time.slice(5, 6)}2.3,N,22.8,K,A`)
      return order.map((index) => (index === 1 ? vtg : (lines[index] ?? '')))
    })
    for (const line of moments.flat()) batches.add('nmea', device, line)
    batches.completeAll()
    expect(complete).toEqual(moments)
  },
)

test('moments of ten a second, and of a receiver that does not know the time, are told apart', () => {
  const { batches, complete } = collect()
  const fast = ['100000.00', '100000.10', '100000.20'].map(cycle)
  const timeless = [sentence('GNRMC,,V,,,,,,,,,,N'), sentence('GNGGA,,,,,,0,00,99.99,,,,,,')]
  for (const line of [...fast.flat(), ...timeless, ...timeless]) batches.add('nmea', device, line)
  batches.completeAll()
  expect(complete).toEqual([...fast, timeless, timeless])
})

test.each([
  ['SKY before TPV', ['SKY', 'TPV']],
  ['TPV before SKY', ['TPV', 'SKY']],
])('gpsd: %s of one time are one moment', (_, classes) => {
  const { batches, complete } = collect()
  const moments = [1, 2, 3].map((second) =>
    classes.map((name) => JSON.stringify({ class: name, time: `2026-11-24T10:00:0${second}.000Z` })),
  )
  for (const line of moments.flat()) batches.add('gpsd', device, line)
  batches.completeAll()
  expect(complete).toEqual(moments)
})

test('devices of one connection do not end the moments of each other', () => {
  const { batches, complete } = collect()
  const other = { kind: 'serial', value: 'SN-2' } as const
  for (const line of cycle('100000.00')) for (const owner of [device, other]) batches.add('nmea', owner, line)
  expect(complete).toEqual([])
  batches.completeAll()
  expect(complete).toEqual([cycle('100000.00'), cycle('100000.00')])
})

test('a line that comes after the next moment has begun completes its own moment again', () => {
  const { batches, complete } = collect()
  const [[rmc = '', vtg = '', gga = ''], [nextRmc = '', , nextGga = '']] = [cycle('100000.00'), cycle('100001.00')]
  for (const line of [rmc, vtg, nextRmc, gga, nextGga]) batches.add('nmea', device, line)
  batches.completeAll()
  expect(complete).toEqual([[rmc, vtg], [nextRmc], [rmc, vtg, gga], [nextRmc, nextGga]])
})

test.each([
  ['after a pause', false],
  ['over a new connection', true],
])('the rest of a moment %s completes it again', (_, isNewConnection) => {
  const recentOf = createRecentMoments()
  const first = collect(recentOf)
  const [rmc = '', , gga = ''] = cycle('100000.00')
  first.batches.add('nmea', device, rmc)
  vi.advanceTimersByTime(2_000)
  const second = isNewConnection ? collect(recentOf) : first
  second.batches.add('nmea', device, gga)
  second.batches.completeAll()
  expect(first.complete[0]).toEqual([rmc])
  expect(second.complete.at(-1)).toEqual([rmc, gga])
})

test('later moments of a stream have its date, also after midnight', () => {
  const { batches, complete } = collect()
  const gga = (time: string) => sentence(`GNGGA,${time},5000.0000,N,00800.0000,W,1,08,0.9,5,M,46.9,M,,`)
  const lines = [sentence('GNZDA,235959.00,20,11,2026,00,00'), gga('235959.00'), gga('000000.00'), gga('000001.00')]
  // A date that cannot be right dates nothing else.
  const wrong = sentence('GNZDA,000002.00,06,01,1980,00,00')
  for (const line of [...lines, wrong, gga('000003.00')]) batches.add('nmea', device, line)
  batches.completeAll()
  expect(complete).toEqual([
    lines.slice(0, 2),
    [sentence('GPZDA,235959.000,20,11,2026,,'), lines[2]],
    [sentence('GPZDA,000000.000,21,11,2026,,'), lines[3]],
    [wrong],
    [sentence('GPZDA,000001.000,21,11,2026,,'), gga('000003.00')],
  ])
})
