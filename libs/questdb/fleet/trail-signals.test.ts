import { expect, test } from 'vitest'
import { activeSignals, type StepSignal } from './trail-signals.ts'

const second = 1_000
const minute = 60 * second

const signal = (tsMs: number, modem: string | null, fields: Partial<StepSignal> = {}): StepSignal => ({
  ...{ tsMs, modem, servedMs: tsMs, rat: 'lte', rsrpDbm: -90, sinrDb: null, rssiDbm: null },
  ...fields,
})
const noService = { rat: 'none', servedMs: null, rsrpDbm: null }

const shown = (...of: Parameters<typeof activeSignals>) =>
  activeSignals(...of).map((found) => found && [found.modem, found.tsMs])

test('each point has the nearest signal, if it is near enough', () => {
  const signals = [signal(minute, null), signal(minute + 20 * second, null), signal(5 * minute, null)]
  const times = [minute + 5 * second, minute + 15 * second, 3 * minute, 5 * minute]
  expect(shown(times, signals, [], 30 * second)).toEqual([
    [null, minute],
    [null, minute + 20 * second],
    undefined,
    [null, 5 * minute],
  ])
  expect(shown([minute], [], [], minute)).toEqual([undefined])
})

test('the active modem is the one that was connected then, not the one that reported last', () => {
  const times = [1, 2, 3, 4].map((at) => at * minute)
  const signals = times.flatMap((tsMs) => [signal(tsMs, 'a'), signal(tsMs + second, 'b')])
  const connections = [
    ...[1, 2].map((at) => ({ tsMs: at * minute, modem: 'a' })),
    ...[3, 4].map((at) => ({ tsMs: at * minute, modem: 'b' })),
  ]
  expect(shown(times, signals, connections, 30 * second)).toEqual([
    ['a', minute],
    ['a', 2 * minute],
    ['b', 3 * minute + second],
    ['b', 4 * minute + second],
  ])
})

test('without a connection in the last 15 minutes, the active modem is the one that had service last', () => {
  const times = [1, 2, 20].map((at) => at * minute)
  const signals = [
    ...[signal(minute, 'a'), signal(minute, 'b', noService)],
    ...[signal(2 * minute, 'a', noService), signal(2 * minute, 'b', noService)],
    ...[signal(20 * minute, 'a', noService), signal(20 * minute, 'b')],
  ]
  const before = [{ tsMs: minute - 14.5 * minute, modem: 'b' }]
  expect(shown(times, signals, before, 30 * second)).toEqual([
    ['b', minute],
    ['a', 2 * minute],
    ['b', 20 * minute],
  ])
})

test('a signal without a modem stands in for an active modem that sent none', () => {
  const connections = [{ tsMs: minute, modem: 'a' }]
  expect(shown([minute], [signal(minute, null), signal(minute, 'b')], connections, 30 * second)).toEqual([
    [null, minute],
  ])
})
