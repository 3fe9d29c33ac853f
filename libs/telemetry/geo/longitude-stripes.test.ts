import fc from 'fast-check'
import { expect, test } from 'vitest'
import { longitudeSpan } from './antimeridian.ts'
import { contains } from './geo.ts'
import { createLongitudeStripes } from './longitude-stripes.ts'

const longitude = fc.oneof(
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.constantFrom(-180, 180, 179.5, -179.5, 0, -1, 1),
)
const interval = fc.tuple(longitude, longitude).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)

function spanOf(intervals: readonly (readonly [number, number])[]) {
  const stripes = createLongitudeStripes()
  for (const [west, east] of intervals) stripes.add(west, east)
  return stripes.span()
}

test('the span of longitudes is the smallest interval around them', () => {
  fc.assert(
    fc.property(fc.array(longitude, { minLength: 1, maxLength: 12 }), (longitudes) => {
      const span = spanOf(longitudes.map((lon) => [lon, lon]))
      const smallest = longitudeSpan(longitudes)
      const width = ([west = 0, east = 0]: readonly number[] = []) => (east - west + 720) % 360
      expect(width(span)).toBeCloseTo(width(smallest), 9)
      for (const lon of longitudes) expect(contains([span?.[0] ?? 0, 0, span?.[1] ?? 0, 0], 0, lon)).toBe(true)
    }),
  )
})

test('the span of intervals contains them whole', () => {
  fc.assert(
    fc.property(fc.array(interval, { minLength: 1, maxLength: 6 }), (intervals) => {
      const [west, east] = spanOf(intervals) ?? [0, 0]
      for (const [from, to] of intervals) {
        const steps = Array.from({ length: 50 }, (_, step) => Math.min(to, from + ((to - from) * step) / 49))
        for (const lon of steps) expect(contains([west, 0, east, 0], 0, lon)).toBe(true)
      }
    }),
  )
})

test.each([
  [
    [
      [178, 180],
      [-180, -179],
    ],
    [178, -179],
  ],
  [[[-180, 180]], [-180, 180]],
  [
    [
      [-180, -10],
      [-10, 180],
    ],
    [-180, 180],
  ],
  [
    [
      [10, 100],
      [-20, -20],
    ],
    [-20, 100],
  ],
  [[[180, 180]], [180, 180]],
  [
    [
      [-180, -180],
      [180, 180],
    ],
    [-180, -180],
  ],
  [
    [
      [-180, -180],
      [178, 178],
    ],
    [178, 180],
  ],
  [
    [
      [180, 180],
      [-178, -178],
    ],
    [-180, -178],
  ],
] as const)('around %j it is %j', (intervals, span) => {
  expect(spanOf(intervals)).toEqual(span)
})

test('without longitudes there is none', () => {
  expect(createLongitudeStripes().span()).toBeUndefined()
})
