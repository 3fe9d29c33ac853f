import fc from 'fast-check'
import { cellToParent, getResolution, latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { disjointLayers } from './cell-layers.ts'

const cell = fc
  .record({ east: fc.integer({ min: 0, max: 40 }), h3Resolution: fc.constantFrom(7, 8, 9, 10) })
  .map(({ east, h3Resolution }) => ({ h3: latLngToCell(51.9, -8.47 + east * 0.0008, h3Resolution), h3Resolution }))

const contains = (outer: string, inner: string) =>
  getResolution(outer) < getResolution(inner) && cellToParent(inner, getResolution(outer)) === outer

it('puts every cell into one layer, in which no cell contains another', () => {
  fc.assert(
    fc.property(fc.uniqueArray(cell, { selector: ({ h3 }) => h3, maxLength: 40 }), (cells) => {
      const layers = disjointLayers(cells)
      expect(new Set(layers.flat())).toEqual(new Set(cells))
      expect(layers.flat()).toHaveLength(cells.length)
      for (const layer of layers) {
        for (const outer of layer) expect(layer.filter(({ h3 }) => contains(outer.h3, h3))).toEqual([])
      }
    }),
  )
})

it('needs one layer for separate cells, and one more for a cell that contains another', () => {
  const [here, far] = [latLngToCell(51.9, -8.47, 10), latLngToCell(53, -8, 9)]
  const separate = [
    { h3: here, h3Resolution: 10 },
    { h3: far, h3Resolution: 9 },
  ]
  expect(disjointLayers(separate)).toHaveLength(1)
  expect(disjointLayers([...separate, { h3: cellToParent(here, 8), h3Resolution: 8 }])).toHaveLength(2)
  expect(disjointLayers([])).toEqual([])
})
