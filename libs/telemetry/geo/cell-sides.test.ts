import fc from 'fast-check'
import { latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { isWellInside, sidesOf } from './cell-sides.ts'

test('a position that is well inside of a cell is in this cell for H3 too, and most positions of a cell are', () => {
  let [inside, all] = [0, 0]
  const lat = fc.double({ min: -90, max: 90, noNaN: true })
  const lon = fc.double({ min: -180, max: 180, noNaN: true })
  const offset = fc.double({ min: -0.002, max: 0.002, noNaN: true })
  fc.assert(
    fc.property(
      lat,
      lon,
      fc.array(fc.tuple(offset, offset), { minLength: 10, maxLength: 20 }),
      (northOf, eastOf, offsets) => {
        const cell = latLngToCell(northOf, eastOf, 10)
        const sides = sidesOf(cell)
        for (const [north, east] of offsets) {
          const [atLat, atLon] = [northOf + north, eastOf + east]
          const isInCell = latLngToCell(atLat, atLon, 10) === cell
          const isInside = sides !== undefined && isWellInside(sides, atLat, atLon)
          if (isInside) expect(isInCell).toBe(true)
          if (isInCell && sides) all++
          if (isInside) inside++
        }
      },
    ),
    { numRuns: 2_000 },
  )
  expect(inside / all).toBeGreaterThan(0.9)
})
