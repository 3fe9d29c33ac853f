import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addPoint, createExtent, meanLat, meanLon, radiusM, startExtent } from './extent.ts'
import { distanceM, fromPlane } from './geo.ts'

const offsets = fc.array(
  fc.record({
    eastM: fc.double({ min: -500, max: 500, noNaN: true }),
    northM: fc.double({ min: -500, max: 500, noNaN: true }),
  }),
  { minLength: 1, maxLength: 200 },
)

test('the radius is the distance of the farthest point from the mean, at any latitude and across 180°', () => {
  const places = fc.record({
    lat: fc.oneof(fc.double({ min: -84, max: 84, noNaN: true }), fc.constantFrom(0, 84.99, 85.01, 89.99)),
    lon: fc.constantFrom(0, 8, 179.999, -180),
  })
  fc.assert(
    fc.property(places, offsets, (origin, vectors) => {
      const points = vectors.map((vector) => fromPlane(origin, vector))
      const [first = origin, ...others] = points
      const extent = createExtent()
      startExtent(extent, first.lat, first.lon)
      for (const { lat, lon } of others) addPoint(extent, lat, lon)
      const mean = { lat: meanLat(extent), lon: meanLon(extent) }
      const farthestM = Math.max(...points.map((point) => distanceM(mean, point)))
      expect(radiusM(extent)).toBeCloseTo(farthestM, 6)
    }),
    { numRuns: 300 },
  )
})
