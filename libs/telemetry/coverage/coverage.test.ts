import fc from 'fast-check'
import { latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { cellularRow } from '#test/tracks'
import {
  type CoverageVote,
  confidenceOf,
  coverageCell,
  coverageVotes,
  emptyTally,
  mergeTally,
  nearestRank,
  tallyVotes,
} from './coverage.ts'

const start = Date.UTC(2026, 0, 1)
const cells = Array.from({ length: 4 }, (_, index) => latLngToCell(51.9, -8.4 + index * 0.002, 10))

const vote = fc.record<CoverageVote>({
  deviceId: fc.constantFrom('a', 'b', 'c'),
  h3: fc.constantFrom(...cells),
  tsMs: fc.integer({ min: start, max: start + 600_000 }),
  rat: fc.constantFrom('lte', 'nr-sa', 'none', null),
  plmn: fc.constantFrom('27201', '27202', null),
  rsrpDbm: fc.option(fc.integer({ min: -140, max: -50 })),
  sinrDb: fc.option(fc.integer({ min: -20, max: 30 })),
})

it('counts one vote per device, cell and UTC minute, from the newest row', () => {
  const row = (deviceId: string, second: number, rsrpDbm: number, h3 = cells[0] ?? '') => ({
    ...cellularRow(start + second * 1000, { rsrpDbm, h3Res10: BigInt(`0x${h3}`) }),
    deviceId,
  })
  const rows = [row('a', 59, -90), row('a', 1, -80), row('a', 60, -70), row('b', 1, -60), row('a', 2, -50, cells[1])]
  const votes = coverageVotes([...rows, { ...cellularRow(start), deviceId: 'a' }])
  expect(votes.map(({ deviceId, rsrpDbm }) => `${deviceId} ${rsrpDbm}`).sort()).toEqual([
    'a -50',
    'a -70',
    'a -90',
    'b -60',
  ])
})

it('returns the same cells for votes added at once or in parts', () => {
  fc.assert(
    fc.property(fc.array(vote, { minLength: 1 }), fc.array(vote), (some, others) => {
      const whole = tallyVotes([...some, ...others], 8)
      const parts = tallyVotes(some, 8)
      for (const [h3, tally] of tallyVotes(others, 8)) {
        const sum = parts.get(h3) ?? emptyTally(h3)
        mergeTally(sum, tally)
        parts.set(h3, sum)
      }
      for (const [h3, tally] of whole)
        expect(coverageCell(parts.get(h3) ?? emptyTally(h3))).toEqual(coverageCell(tally))
    }),
  )
})

it('calculates percentiles by nearest rank', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -140, max: -40 }), { minLength: 1 }),
      fc.constantFrom(0.1, 0.5, 0.9),
      (values, share) => {
        const histogram = new Map<number, number>()
        for (const value of values) histogram.set(value, (histogram.get(value) ?? 0) + 1)
        const sorted = values.toSorted((a, b) => a - b)
        expect(nearestRank(histogram, share)).toBe(sorted[Math.ceil(share * sorted.length) - 1])
      },
    ),
  )
  expect(nearestRank(new Map(), 0.5)).toBeNull()
})

const repeated = (count: number, fields: Partial<CoverageVote>): CoverageVote[] =>
  Array.from({ length: count }, (_, index) => ({
    deviceId: `d${index % 2}`,
    h3: cells[0] ?? '',
    tsMs: start + index,
    rat: 'lte',
    plmn: '27201',
    rsrpDbm: -90,
    sinrDb: 10,
    ...fields,
  }))

const only = (votes: CoverageVote[]) => coverageCell([...tallyVotes(votes).values()][0] ?? emptyTally(''))

it('counts samples without service in the service ratio but not in the percentiles', () => {
  const cell = only([...repeated(1, {}), ...repeated(3, { rat: 'none', rsrpDbm: -150 })])
  expect(cell).toMatchObject({ samples: 4, serviceRatio: 0.25, rsrpDbm: { p10: -90 }, byRat: { lte: 1, none: 3 } })
  expect(only(repeated(3, { rat: 'none' })).quality).toBe('none')
})

it('returns a best operator only with five votes and a margin of 3 dB', () => {
  const best = (count: number, rsrpDbm: number) =>
    only([...repeated(5, {}), ...repeated(count, { plmn: '27202', rsrpDbm })]).byPlmn['27202']?.best
  expect([best(5, -87), best(5, -88), best(4, -80)]).toEqual([true, false, false])
})

it('rates the confidence of a cell', () => {
  expect([
    confidenceOf(4, 2),
    confidenceOf(50, 1),
    confidenceOf(5, 2),
    confidenceOf(29, 9),
    confidenceOf(30, 2),
  ]).toEqual(['low', 'low', 'medium', 'medium', 'high'])
})
