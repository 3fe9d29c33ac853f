import fc from 'fast-check'
import { expect, it } from 'vitest'
import { distanceM, type Point } from './geo.ts'
import { greatCirclePoint, pathLengthM, routeOf, routeSegments } from './route-path.ts'

const point = fc.record<Point>({
  lat: fc.double({ min: -89, max: 89, noNaN: true }),
  lon: fc.double({ min: -180, max: 180, noNaN: true }),
})
/** A path whose legs are up to some 100 km long, from anywhere on the globe. */
const path = fc
  .tuple(
    point,
    fc.array(fc.tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.double({ min: -1, max: 1, noNaN: true })), {
      minLength: 1,
      maxLength: 8,
    }),
  )
  .map(([start, steps]) => {
    const points = [start]
    for (const [north, east] of steps) {
      const { lat, lon } = points.at(-1) ?? start
      points.push({ lat: Math.max(-89, Math.min(89, lat + north)), lon: ((lon + east + 540) % 360) - 180 })
    }
    return points
  })

it('covers a path without gaps or overlaps, in segments of the requested length', () => {
  fc.assert(
    fc.property(path, fc.integer({ min: 50, max: 1_000 }), (points, everyM) => {
      const lengthM = pathLengthM(points)
      const segments = routeSegments(points, everyM)
      if (lengthM <= 0.001) {
        expect(segments).toEqual([])
        return
      }
      expect(segments[0]?.fromM).toBe(0)
      expect(segments.at(-1)?.toM).toBe(lengthM)
      const gaps = segments.filter(({ fromM }, index) => index > 0 && fromM !== segments[index - 1]?.toM)
      const wrong = segments.filter(({ fromM, toM }) => toM <= fromM || toM - fromM > everyM + 0.002)
      expect({ gaps, wrong }).toEqual({ gaps: [], wrong: [] })
    }),
    { numRuns: 50 },
  )
})

it('places the middle of a segment on the path at the right distance', () => {
  fc.assert(
    fc.property(path, (points) => {
      let alongM = 0
      const starts = points.map((here, index) => {
        const before = points[index - 1]
        if (before) alongM += distanceM(before, here)
        return alongM
      })
      for (const { fromM, toM, lat, lon } of routeSegments(points, 1_000)) {
        const middleM = (fromM + toM) / 2
        const leg = Math.max(
          1,
          starts.findIndex((startM) => startM >= middleM),
        )
        const start = points[leg - 1] ?? { lat, lon }
        expect(distanceM(start, { lat, lon })).toBeCloseTo(middleM - (starts[leg - 1] ?? 0), 0)
      }
    }),
    { numRuns: 20 },
  )
})

it('interpolates along the great circle, also across the 180th meridian', () => {
  fc.assert(
    fc.property(point, point, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, fraction) => {
      const lengthM = distanceM(a, b)
      // Near antipodes every way is the shortest one.
      fc.pre(lengthM < 19_000_000)
      const between = greatCirclePoint(a, b, fraction)
      expect(Math.abs(distanceM(a, between) - lengthM * fraction)).toBeLessThan(1)
      expect(Math.abs(distanceM(between, b) - lengthM * (1 - fraction))).toBeLessThan(1)
    }),
  )
  const middle = greatCirclePoint({ lat: 0, lon: 179 }, { lat: 0, lon: -179 }, 0.5)
  expect(Math.abs(middle.lon)).toBeCloseTo(180, 9)
})

it('measures with the mean Earth radius and skips repeated points', () => {
  const degree = [
    { lat: 0, lon: 0 },
    { lat: 0, lon: 0 },
    { lat: 0, lon: 1 },
  ]
  expect(pathLengthM(degree)).toBeCloseTo((6_371_008.8 * Math.PI) / 180, 6)
  const segments = routeSegments(degree, 1_000)
  expect(segments).toHaveLength(112)
  expect(segments[0]).toMatchObject({ fromM: 0, toM: 1_000, lat: 0 })
  expect(segments[0]?.lon).toBeCloseTo(500 / 111_195.08, 6)
  expect(
    routeSegments(
      [
        { lat: 5, lon: 5 },
        { lat: 5, lon: 5 },
      ],
      100,
    ),
  ).toEqual([])
})

it('continues the distances of a line after the one before, without the gap between them', () => {
  fc.assert(
    fc.property(
      fc.array(path, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 50, max: 1_000 }),
      (lines, everyM) => {
        const { stretches, segments } = routeOf(lines, everyM)
        const lengthsM = lines.map(pathLengthM)
        expect(stretches.map(({ fromM, toM }) => toM - fromM)).toEqual(
          lengthsM.map((lengthM) => expect.closeTo(lengthM, 6)),
        )
        expect(stretches.map(({ fromM }) => fromM)).toEqual([0, ...stretches.slice(0, -1).map(({ toM }) => toM)])
        const alone = lines.flatMap((line) => routeSegments(line, everyM))
        expect(segments.map(({ lat, lon }) => ({ lat, lon }))).toEqual(alone.map(({ lat, lon }) => ({ lat, lon })))
        const across = segments.filter(({ fromM, toM }) =>
          stretches.some((next) => fromM < next.fromM && toM > next.fromM),
        )
        expect(across).toEqual([])
        if (lines.length === 1) expect(segments).toEqual(alone)
      },
    ),
    { numRuns: 30 },
  )
})
