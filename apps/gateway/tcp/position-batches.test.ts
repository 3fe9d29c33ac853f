import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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
function collect() {
  const complete: string[][] = []
  const batches = createPositionBatches(
    () => 0,
    () => false,
    () => {
      complete.push(batches.first()?.lines ?? [])
      batches.shift()
    },
  )
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
