import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SignalVotes, summarizeSignal, worstSignalFirst } from './signal-trend.ts'

const served = (rsrpBin: number | null, votes: number): SignalVotes => ({ isServed: true, rsrpBin, votes })
const dead = (votes: number): SignalVotes => ({ isServed: false, rsrpBin: null, votes })

test('adds up votes by service and by the class of their RSRP', () => {
  const summary = summarizeSignal([served(-80, 4), served(-95, 2), served(-110, 1), served(null, 1), dead(2)])
  expect(summary).toEqual({
    samples: 10,
    serviceRatio: 0.8,
    noServiceS: 120,
    rsrpDbm: { p10: -110, p50: -80, p90: -80 },
    byQuality: { none: 2, poor: 1, fair: 0, good: 2, excellent: 4, unknown: 1 },
  })
})

test('has no percentiles without votes', () => {
  expect(summarizeSignal([])).toMatchObject({ samples: 0, serviceRatio: 0, rsrpDbm: { p10: null, p50: null } })
})

test('the larger share of bad votes is worse, and of equal shares the one with more votes', () => {
  const bad = summarizeSignal([served(-80, 1), dead(1)])
  const worse = summarizeSignal([served(-110, 6), served(-80, 2)])
  const more = summarizeSignal([served(-80, 10), served(-110, 10)])
  expect([bad, worse, more].toSorted(worstSignalFirst)).toEqual([worse, more, bad])
})

const anyVotes = fc.array(
  fc.record({
    isServed: fc.boolean(),
    rsrpBin: fc.option(fc.integer({ min: -140, max: -44 })),
    votes: fc.integer({ min: 1, max: 1_000 }),
  }),
)

test('every vote has one class, whatever the order and the grouping of the votes', () => {
  fc.assert(
    fc.property(anyVotes, (votes) => {
      const summary = summarizeSignal(votes)
      const inClasses = Object.values(summary.byQuality).reduce((sum, count) => sum + count, 0)
      expect(inClasses).toBe(summary.samples)
      const split = votes.flatMap((one) =>
        one.votes > 1
          ? [
              { ...one, votes: 1 },
              { ...one, votes: one.votes - 1 },
            ]
          : [one],
      )
      expect(summarizeSignal(split.reverse())).toEqual(summary)
    }),
  )
})
