import fc from 'fast-check'
import { cellToChildren, cellToParent, latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { votesByLevel } from '#test/level-counts'
import { chainTallies } from './route-tallies.ts'
import { addVoteGroup, emptySignalTally, type SignalTally, type VoteGroup } from './signal-tally.ts'

const around = cellToParent(latLngToCell(51.9, -8.47, 10), 7)
const places = cellToChildren(around, 10).slice(0, 60)
const chainOf = (h3: string) => [h3, cellToParent(h3, 9), cellToParent(h3, 8), cellToParent(h3, 7)]

const vote = fc.record<VoteGroup & { h3: string }>({
  h3: fc.constantFrom(...places),
  rat: fc.constantFrom('lte', 'nr-nsa', 'none', null),
  plmn: fc.constantFrom('27201', '27202', null),
  rsrpBin: fc.option(fc.integer({ min: -140, max: -50 })),
  votes: fc.integer({ min: 1, max: 20 }),
})

function tallyBy(votes: readonly (VoteGroup & { h3: string })[], cellOf: (h3: string) => string | undefined) {
  const tallies = new Map<string, SignalTally>()
  for (const group of votes) {
    const h3 = cellOf(group.h3)
    if (h3 === undefined) continue
    const tally = tallies.get(h3) ?? emptySignalTally()
    tallies.set(h3, tally)
    addVoteGroup(tally, group)
  }
  return tallies
}

/** A tally with its groups in an order that does not depend on how it was added up. */
const inOrder = ({ samples, inService, groups }: SignalTally): unknown => [
  ...[samples, inService],
  groups.map(({ rat, plmn, votes, rsrp }) => JSON.stringify([rat, plmn, votes, votesByLevel(rsrp)])).sort(),
]

it('adds up every cell of the chains that a forecast needs', () => {
  fc.assert(
    fc.property(
      fc.array(vote, { maxLength: 80 }),
      fc.uniqueArray(fc.constantFrom(...places), { minLength: 1, maxLength: 20 }),
      (votes, points) => {
        const chains = points.map(chainOf)
        const named = new Set(chains.flat())
        const parts = tallyBy(votes, (h3) => chainOf(h3).find((cell) => named.has(cell)))
        const tallies = chainTallies(chains, parts)
        for (const chain of chains) {
          const isSparse = (tallies.get(chain[0] ?? '')?.samples ?? 0) < 30
          for (const [level, h3] of chain.entries()) {
            if (level > 0 && !isSparse) continue
            const whole = tallyBy(votes, (cell) => chainOf(cell)[level]).get(h3) ?? emptySignalTally()
            expect(inOrder(tallies.get(h3) ?? fail(h3))).toEqual(inOrder(whole))
          }
        }
      },
    ),
  )
})

it('does not add up coarser cells that no forecast needs', () => {
  const chain = chainOf(places[0] ?? '')
  const votes = [{ h3: places[0] ?? '', rat: 'lte', plmn: null, rsrpBin: -90, votes: 30 }]
  expect([
    ...chainTallies(
      [chain],
      tallyBy(votes, (h3) => h3),
    ).keys(),
  ]).toEqual([places[0]])
})

function fail(h3: string): never {
  throw new Error(`There is no tally of ${h3}.`)
}
