import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createCellIndex } from './cell-index.ts'

type Cell = [number, number, number, number, number]

it('numbers different cells in their order, and equal ones alike', () => {
  const part = fc.integer({ min: -2, max: 2 })
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part, part, part, part), { maxLength: 3_000 }), (cells) => {
      const index = createCellIndex()
      for (let round = 0; round < 2; round++) {
        const numbers = new Map<string, number>()
        for (const cell of cells) {
          const key = cell.join()
          const number = numbers.get(key) ?? numbers.size
          numbers.set(key, number)
          expect(index.indexOf(...cell)).toBe(number)
        }
        index.clear()
      }
    }),
    { numRuns: 20 },
  )
})

it('keeps its numbers while it grows', () => {
  const index = createCellIndex()
  const cells = Array.from({ length: 10_000 }, (_, at): Cell => [at, -at, 7, at % 3, 0])
  const numbers = cells.map((cell) => index.indexOf(...cell))
  expect(cells.map((cell) => index.indexOf(...cell))).toEqual(numbers)
  expect(new Set(numbers).size).toBe(cells.length)
})
