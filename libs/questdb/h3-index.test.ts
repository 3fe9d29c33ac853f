import fc from 'fast-check'
import { cellToParent, getPentagons, latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { enclosingCells } from '#questdb/h3-index'

const latitude = fc.double({ min: -90, max: 90, noNaN: true })
const longitude = fc.double({ min: -180, max: 180, noNaN: true })

test('the enclosing cells are those of H3', () => {
  fc.assert(
    fc.property(
      latitude,
      longitude,
      fc.integer({ min: 5, max: 10 }),
      fc.integer({ min: 5, max: 10 }),
      (lat, lon, a, b) => {
        const h3 = latLngToCell(lat, lon, Math.max(a, b))
        expect(enclosingCells([h3], Math.min(a, b))).toEqual([cellToParent(h3, Math.min(a, b))])
      },
    ),
  )
  for (const pentagon of getPentagons(10)) expect(enclosingCells([pentagon], 7)).toEqual([cellToParent(pentagon, 7)])
})

test('a cell that encloses several is listed once', () => {
  const cells = [latLngToCell(51.84, -8.29, 10), latLngToCell(51.8401, -8.2901, 10)]
  expect(enclosingCells(cells, 5)).toHaveLength(1)
})
