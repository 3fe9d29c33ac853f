import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDraw } from '#test/draw'
import { hundredths, lowestDbm } from './packed-level.ts'
import { createRadioComparison } from './radio-health.ts'
import { createVoteBatch } from './vote-batch.ts'

const [fromHour, hours, radioCount, cellCount] = [500_000, 72, 8, 40]
const window = { fromHour, toHour: fromHour + hours }
const radios = Array.from({ length: radioCount }, (_, index) => ({ deviceId: `d${index}`, modem: null, model: 'x' }))

type Vote = { cell: number; radio: number; hour: number; level: number }

/** Votes in order of time, some of them several times in an hour. The first radio is weak. */
function votesOf(seed: number): Vote[] {
  const draw = createDraw(seed)
  const below = (limit: number) => Math.floor(draw() * limit)
  return Array.from({ length: 1_500 }, () => below(hours))
    .sort((a, b) => a - b)
    .map((hour) => {
      const [cell, radio] = [below(cellCount), below(radioCount)]
      return { cell, radio, hour, level: 100 * (100 + (cell % 20) + below(6) - (radio === 0 ? 7 : 0)) }
    })
}

/** The health of all radios if each cell is added at once. */
function comparedAtOnce(votes: readonly Vote[]) {
  const comparison = createRadioComparison(radios, window)
  for (const [, ofCell] of Map.groupBy(votes, ({ cell }) => cell))
    comparison.addCell({
      length: ofCell.length,
      radios: ofCell.map(({ radio }) => radio),
      hours: ofCell.map(({ hour }) => fromHour + hour),
      rsrpDbm: ofCell.map(({ level }) => lowestDbm + level / hundredths),
    })
  return comparison.healthOfAll()
}

/** The same if the cells are read in several ranges, with little memory. */
function comparedInBatches(
  votes: readonly Vote[],
  { capacity, cellsAtOnce }: { capacity: number; cellsAtOnce: number },
) {
  const comparison = createRadioComparison(radios, window)
  const batch = createVoteBatch(capacity)
  for (let first = 0; first < cellCount; first += cellsAtOnce) {
    for (const { cell, radio, hour, level } of votes) {
      if (cell < first || cell >= first + cellsAtOnce) continue
      if (batch.isFull()) batch.reduce()
      batch.add(cell - first, radio, hour, level)
    }
    batch.takeCells(comparison.addSorted)
  }
  batch.free()
  return comparison.healthOfAll()
}

it('has the same answer for any size of a batch and any ranges of cells', () => {
  fc.assert(
    fc.property(
      fc.record({
        seed: fc.integer({ min: 1, max: 1_000 }),
        capacity: fc.integer({ min: 1, max: 2_000 }),
        cellsAtOnce: fc.integer({ min: 1, max: cellCount }),
      }),
      ({ seed, ...sizes }) => {
        const votes = votesOf(seed)
        const found = comparedInBatches(votes, sizes)
        expect(found).toEqual(comparedAtOnce(votes))
        expect(found[0]).toMatchObject({ deviceId: 'd0', status: 'fault' })
      },
    ),
    { numRuns: 30 },
  )
})
