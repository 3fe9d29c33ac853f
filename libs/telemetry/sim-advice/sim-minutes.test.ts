import { expect, it } from 'vitest'
import { createSimMinutes } from './sim-minutes.ts'

type Vote = [sim: number, minute: number, cell: number, isDark: boolean]

function partsOf(votes: readonly Vote[]) {
  const parts: number[][] = []
  const minutes = createSimMinutes(3, (...part) => parts.push(part))
  for (const vote of votes) minutes.add(...vote)
  minutes.end()
  return { parts, days: [0, 1, 2].map(minutes.daysOf) }
}

it('divides a minute equally among the cells in which a SIM voted', () => {
  const votes: Vote[] = [
    [0, 5, 7, false],
    [1, 5, 7, true],
    [0, 5, 8, true],
    [0, 6, 8, false],
  ]
  expect(partsOf(votes).parts).toEqual([
    [0, 7, 0.5, 0],
    [1, 7, 1, 1],
    [0, 8, 0.5, 0.5],
    [0, 8, 1, 0],
  ])
})

it('counts the days on which each SIM voted', () => {
  const votes: Vote[] = [
    [0, 1_439, 1, false],
    [1, 1_439, 1, false],
    [0, 1_440, 1, false],
    [0, 1_441, 1, false],
    [0, 4_320, 1, false],
  ]
  expect(partsOf(votes).days).toEqual([3, 1, 0])
})
