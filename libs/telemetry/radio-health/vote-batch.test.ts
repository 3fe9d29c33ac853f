import fc from 'fast-check'
import { expect, it } from 'vitest'
import { medianOf } from './median.ts'
import { createVoteBatch } from './vote-batch.ts'

type Vote = { cell: number; radio: number; hour: number; level: number }

const fromHour = 500_000
const anyVotes = fc.array(
  fc.record({
    cell: fc.nat(4),
    radio: fc.nat(3),
    hour: fc.nat(3),
    level: fc.nat(200).map((level) => 100 * level),
  }),
  { minLength: 1, maxLength: 100 },
)

/** The cells of votes that come in order of time. */
function cellsOf(votes: readonly Vote[], capacity: number): Vote[][] {
  const batch = createVoteBatch({ radios: 4, fromHour, capacity })
  const cells: Vote[][] = []
  // The second time, everything comes from memory that was used before.
  for (let round = 0; round < 2; round++) {
    cells.length = 0
    for (const { cell, radio, hour, level } of votes) batch.add(cell, radio, hour, level)
    const steps = batch.takeCells(({ length, radios, hours, rsrpDbm }) => {
      const rows = Array.from({ length }, (_, row) => ({
        cell: cells.length,
        radio: Number(radios[row]),
        hour: Number(hours[row]) - fromHour,
        level: Math.round((Number(rsrpDbm[row]) + 200) * 100),
      }))
      cells.push(rows)
    })
    while (!steps.next().done);
  }
  return cells
}

const inTime = (votes: readonly Vote[]) => votes.toSorted((a, b) => a.hour - b.hour)
const byRadioAndHour = (a: Vote, b: Vote) => a.radio - b.radio || a.hour - b.hour
/** The votes of each cell that has some, in order. */
const expected = (votes: readonly Vote[]) =>
  [...Map.groupBy(votes, ({ cell }) => cell)]
    .sort(([a], [b]) => a - b)
    .map(([, ofCell], cell) => ofCell.map((vote) => ({ ...vote, cell })).toSorted(byRadioAndHour))

it('gives the votes of each cell in order of radio and hour', () => {
  fc.assert(
    fc.property(anyVotes, (some) => {
      const votes = inTime(some)
      expect(cellsOf(votes, 100)).toEqual(expected(votes))
    }),
  )
})

it('gives the same median of each hour when it has too little memory for the votes', () => {
  const medians = (cells: readonly Vote[][]) =>
    cells.map((votes) =>
      [...Map.groupBy(votes, ({ radio, hour }) => `${radio} ${hour}`)].map(([key, own]) => [
        key,
        medianOf(own.map(({ level }) => level)),
      ]),
    )
  fc.assert(
    fc.property(anyVotes, fc.integer({ min: 1, max: 20 }), (some, capacity) => {
      const votes = inTime(some)
      expect(medians(cellsOf(votes, capacity))).toEqual(medians(expected(votes)))
    }),
  )
})

it('keeps a depot in the memory of its hours', () => {
  const votes = Array.from({ length: 6_000 }, (_, index) => ({
    ...{ cell: 0, radio: index % 2, hour: Math.floor(index / 120), level: 100 * (index % 7) },
  }))
  const [cell] = cellsOf(votes, 400)
  expect(cell?.length).toBeLessThan(400)
})
