import fc from 'fast-check'
import { cellToLatLng, cellToParent, latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { finestResolution } from '#telemetry/coverage/ancestor-cell'
import type { BoundingBox } from '#telemetry/geo/geo'
import { coverageAreas } from './coverage-areas.ts'
import { coarsestResolution } from './coverage-resolution.ts'
import { longOfH3 } from './h3-index.ts'

const box = fc
  .record({
    lat: fc.double({ min: -70, max: 70, noNaN: true }),
    lon: fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.double({ min: 179, max: 180, noNaN: true })),
    height: fc.oneof(fc.double({ min: 0.001, max: 1, noNaN: true }), fc.double({ min: 1, max: 12, noNaN: true })),
    width: fc.oneof(fc.double({ min: 0.001, max: 1, noNaN: true }), fc.double({ min: 1, max: 60, noNaN: true })),
  })
  .map(({ lat, lon, height, width }): BoundingBox => [lon, lat, turned(lon + width), lat + height])
const turned = (lon: number) => (lon > 180 ? lon - 360 : lon)
const share = fc.double({ min: -0.2, max: 1.2, noNaN: true })

/** The point at these shares of a box's width and height. */
function pointOf([west, south, east, north]: BoundingBox, x: number, y: number): [lat: number, lon: number] {
  const width = east < west ? east + 360 - west : east - west
  return [south + y * (north - south), turned(west + x * width)]
}

function isInside([west, south, east, north]: BoundingBox, [lat, lon]: readonly [number, number]): boolean {
  if (lat < south || lat > north) return false
  return west <= east ? lon >= west && lon <= east : lon >= west || lon <= east
}

test('every vote of a cell with its centre in the box is in one of the areas', () => {
  const resolutions = fc.integer({ min: coarsestResolution, max: finestResolution })
  fc.assert(
    fc.property(box, share, share, resolutions, (within, x, y, resolution) => {
      const vote = latLngToCell(...pointOf(within, x, y), finestResolution)
      fc.pre(isInside(within, cellToLatLng(cellToParent(vote, resolution))))
      const areas = coverageAreas(within)
      fc.pre(areas !== undefined)
      expect(areas.indexes).toContain(longOfH3(cellToParent(vote, areas.resolution)))
    }),
    { numRuns: 200 },
  )
})

test.each([
  ['a town', [8, 50, 8.1, 50.1], 5],
  ['a country', [5, 47, 15, 55], 3],
  ['a continent', [-10, 36, 30, 70], 2],
] as [string, BoundingBox, number][])('the areas of %s are few', (_, within, resolution) => {
  const areas = coverageAreas(within)
  expect(areas?.resolution).toBe(resolution)
  expect(areas?.indexes.length).toBeLessThan(600)
})

test.each([
  ['to a pole', [0, 60, 10, 90]],
  ['over half of the globe', [-100, 0, 100, 10]],
] as [string, BoundingBox][])('a box that reaches %s has no areas', (_, within) => {
  expect(coverageAreas(within)).toBeUndefined()
})
