import fc from 'fast-check'
import { cellToParent, getPentagons, latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { enclosingCells, finestRange } from './h3-index.ts'

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

test('the range of a cell has the finest cells in it and no others', () => {
  const near = fc.double({ min: -0.05, max: 0.05, noNaN: true })
  fc.assert(
    fc.property(
      latitude,
      longitude,
      near,
      near,
      fc.integer({ min: 5, max: 10 }),
      (lat, lon, north, east, resolution) => {
        const cell = latLngToCell(lat, lon, resolution)
        const { first, last } = finestRange(cell)
        for (const finest of [latLngToCell(lat, lon, 10), latLngToCell(lat + north, lon + east, 10)]) {
          const index = BigInt(`0x${finest}`)
          expect(index >= first && index <= last).toBe(cellToParent(finest, resolution) === cell)
        }
      },
    ),
  )
})
