import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ServiceTime, timesWithoutService } from './service-times.ts'

const lost = (fromMs: number, toMs: number): ServiceTime => ({ hasService: false, fromMs, toMs })
const served = (fromMs: number, toMs: number): ServiceTime => ({ hasService: true, fromMs, toMs })

it.each<[string, ServiceTime[], [number, number][]]>([
  ['nothing without reports', [], []],
  [
    'the times of a single modem',
    [served(0, 10), lost(10, 20), served(20, 30), lost(30, 40)],
    [
      [30, 40],
      [10, 20],
    ],
  ],
  ['nothing while another modem has service', [lost(0, 100), served(0, 100)], []],
  ['only the time that all modems lack', [lost(0, 60), lost(40, 100), served(0, 40), served(60, 100)], [[40, 60]]],
  ['the time of one modem while the other does not report', [lost(50, 60), served(0, 40)], [[50, 60]]],
  ['one time where the outage of one modem follows that of another', [lost(0, 10), lost(10, 20)], [[0, 20]]],
])('finds %s', (_, modems, expected) => {
  expect(timesWithoutService(modems)).toEqual(expected.map(([fromMs, toMs]) => ({ fromMs, toMs })))
})

const someTimes = fc.array(
  fc
    .record({ hasService: fc.boolean(), fromMs: fc.nat(40), lengthMs: fc.nat(20) })
    .map(({ lengthMs, ...time }): ServiceTime => ({ ...time, toMs: time.fromMs + lengthMs })),
  { maxLength: 12 },
)

it('agrees with every moment: without service when a modem has none and no modem has service', () => {
  const covers = (atMs: number) => (time: { fromMs: number; toMs: number }) => time.fromMs <= atMs && atMs < time.toMs
  fc.assert(
    fc.property(someTimes, (modems) => {
      const found = timesWithoutService(modems)
      for (let atMs = 0; atMs < 61; atMs += 1) {
        const now = modems.filter(covers(atMs))
        const isLost = now.length > 0 && now.every(({ hasService }) => !hasService)
        expect(found.filter(covers(atMs)).length).toBe(isLost ? 1 : 0)
      }
      // They are apart, and the newest is first.
      found.slice(1).forEach(({ toMs }, index) => {
        expect(toMs).toBeLessThan(found[index]?.fromMs ?? 0)
      })
    }),
  )
})
