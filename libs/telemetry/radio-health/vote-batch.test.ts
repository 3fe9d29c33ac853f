import fc from 'fast-check'
import { expect, it } from 'vitest'
import { medianOf } from './median.ts'
import { hourOf, levelOf, radioOf } from './packed-level.ts'
import { createVoteBatch, type VoteBatch } from './vote-batch.ts'

type Vote = { cell: number; radio: number; hour: number; level: number }

const anyVotes = fc.array(
  fc.record({
    cell: fc.nat(4),
    radio: fc.nat(3),
    hour: fc.nat(3),
    level: fc.nat(200).map((level) => 100 * level),
  }),
  { minLength: 1, maxLength: 100 },
)

/** The cells of votes that come in order of time. `beforeEach` is called before each of them. */
function cellsOf(
  votes: readonly Vote[],
  capacity: number,
  beforeEach: (batch: VoteBatch) => void = reduceFull,
): Vote[][] {
  const batch = createVoteBatch(capacity)
  const cells: Vote[][] = []
  // The second time, everything comes from memory that was used before.
  for (let round = 0; round < 2; round++) {
    cells.length = 0
    for (const { cell, radio, hour, level } of votes) {
      beforeEach(batch)
      batch.add(cell, radio, hour, level)
    }
    batch.takeCells((packed, count) => {
      const rows = Array.from(packed.subarray(0, count), (level) => {
        const radio = radioOf(level)
        return { cell: cells.length, radio, hour: hourOf(level, radio), level: levelOf(level, radio) }
      })
      cells.push(rows)
    })
  }
  batch.free()
  return cells
}

function reduceFull(batch: VoteBatch): void {
  if (batch.isFull()) batch.reduce()
}

const inTime = (votes: readonly Vote[]) => votes.toSorted((a, b) => a.hour - b.hour)
const byRadioHourAndLevel = (a: Vote, b: Vote) => a.radio - b.radio || a.hour - b.hour || a.level - b.level
/** The votes of each cell that has some, in order. */
const expected = (votes: readonly Vote[]) =>
  [...Map.groupBy(votes, ({ cell }) => cell)]
    .sort(([a], [b]) => a - b)
    .map(([, ofCell], cell) => ofCell.map((vote) => ({ ...vote, cell })).toSorted(byRadioHourAndLevel))

it('gives the votes of each cell in order of radio, hour and level', () => {
  fc.assert(
    fc.property(anyVotes, (some) => {
      const votes = inTime(some)
      expect(cellsOf(votes, 100)).toEqual(expected(votes))
    }),
  )
})

const medians = (cells: readonly Vote[][]) =>
  cells.map((votes) =>
    [...Map.groupBy(votes, ({ radio, hour }) => `${radio} ${hour}`)].map(([key, own]) => [
      key,
      medianOf(own.map(({ level }) => level)),
    ]),
  )

it('gives the same median of each hour when it has too little memory for the votes', () => {
  fc.assert(
    fc.property(anyVotes, fc.integer({ min: 1, max: 20 }), (some, capacity) => {
      const votes = inTime(some)
      expect(medians(cellsOf(votes, capacity))).toEqual(medians(expected(votes)))
    }),
  )
})

it('gives the same median of each hour wherever it is reduced, or never', () => {
  fc.assert(
    fc.property(anyVotes, fc.infiniteStream(fc.boolean()), (some, reduces) => {
      const votes = inTime(some)
      const reduced = cellsOf(votes, 1, (batch) => {
        if (reduces.next().value) batch.reduce()
      })
      expect(medians(reduced)).toEqual(medians(expected(votes)))
      expect(medians(cellsOf(votes, 1, () => {}))).toEqual(medians(expected(votes)))
    }),
  )
})

it('gives the votes of large cells in order', () => {
  const votes = Array.from({ length: 25_000 }, (_, index) => ({
    ...{ cell: index % 50 === 0 ? 1 : 0, radio: index % 3, hour: Math.floor(index / 500), level: 100 * (index % 97) },
  }))
  expect(cellsOf(votes, 100_000)).toEqual(expected(votes))
  expect(medians(cellsOf(votes, 12_000))).toEqual(medians(expected(votes)))
})

it('keeps a depot in the memory of its hours', () => {
  const votes = Array.from({ length: 6_000 }, (_, index) => ({
    ...{ cell: 0, radio: index % 2, hour: Math.floor(index / 120), level: 100 * (index % 7) },
  }))
  const [cell] = cellsOf(votes, 400)
  expect(cell?.length).toBeLessThan(400)
})
