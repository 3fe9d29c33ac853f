import fc from 'fast-check'
import { expect, it } from 'vitest'
import { distanceM, fromPlane, toPlane } from '#telemetry/geo/geo'
import { curveBetween, pointOn } from './curve.ts'
import { type DistinctFix, startFix } from './distinct-fixes.ts'

const startMs = Date.UTC(2026, 0, 1)
const origin = { lat: 52, lon: 8 }

type Fix = { second: number; eastM?: number; northM?: number; speedMps?: number | null; headingDeg?: number | null }

function fix({ second, eastM = 0, northM = 0, speedMps = null, headingDeg = null }: Fix): DistinctFix {
  const report = { tsMs: startMs + second * 1000, ...fromPlane(origin, { eastM, northM }), fixTs: null, accuracyM: 5 }
  return startFix({ ...report, speedMps, headingDeg }, undefined)
}

/** The position at a second between two fixes, in metres from the older one, which stands at the origin. */
function at(second: number, older: Fix, newer: Fix, before?: Fix): [eastM: number, northM: number] {
  const fraction = (second - older.second) / (newer.second - older.second)
  const point = pointOn(curveBetween(before && fix(before), fix(older), fix(newer)), fraction)
  const { eastM, northM } = toPlane(origin, point)
  return [Number(eastM.toFixed(2)), Number(northM.toFixed(2))]
}

it('worked example: equal speeds below the mean speed', () => {
  const position = at(6, { second: 0, speedMps: 10 }, { second: 30, northM: 100, speedMps: 10 })
  expect(position).toEqual([0, 39.2])
})

it('worked example: a vehicle that starts to drive', () => {
  const position = at(5, { second: 0, speedMps: 0 }, { second: 10, northM: 100, speedMps: 20 })
  expect(position).toEqual([0, 25])
})

it('worked example: the previous fix determines the direction', () => {
  const [older, newer] = [
    { second: 0, speedMps: 10 },
    { second: 10, northM: 100, speedMps: 10 },
  ]
  expect(at(5, older, newer, { second: -10, eastM: -100 })).toEqual([8.84, 46.34])
  expect(at(5, older, newer, { second: -60, eastM: -100 })).toEqual([8.84, 46.34])
  expect(at(5, older, newer, { second: -60.001, eastM: -100 })).toEqual([0, 50])
})

it('worked example: reported headings at both ends', () => {
  const older = { second: 0, speedMps: 10, headingDeg: 0 }
  const newer = { second: 20, northM: 100, eastM: 100, speedMps: 10, headingDeg: 90 }
  expect(at(10, older, newer)).toEqual([25, 75])
})

it('uses a heading from 2 m/s on and up to 90° from the chord', () => {
  const curved = (speedMps: number, headingDeg: number) =>
    at(5, { second: 0, speedMps, headingDeg }, { second: 10, northM: 100, speedMps: 10 })[0] !== 0
  expect(curved(2, 45)).toBe(true)
  expect(curved(1.99, 45)).toBe(false)
  expect(curved(10, 90)).toBe(true)
  expect(curved(10, 270)).toBe(true)
  expect(curved(10, 90.1)).toBe(false)
  expect(curved(10, 269.9)).toBe(false)
})

it('uses a speed of up to three times the mean speed', () => {
  const fast = { second: 10, northM: 100, speedMps: 30 }
  expect(at(5, { second: 0, speedMps: 10 }, fast)).toEqual([0, 25])
  expect(at(5, { second: 0, speedMps: 10 }, { ...fast, speedMps: 300 })).toEqual([0, 25])
})

it('is a straight line, linear in time, for intervals of more than 40 s', () => {
  const position = at(10.25, { second: 0, speedMps: 0 }, { second: 41, northM: 100, speedMps: 20 })
  expect(position).toEqual([0, 25])
})

const knot = fc.record({
  lat: fc.double({ min: -89, max: 89, noNaN: true }),
  lon: fc.double({ min: -180, max: 180, noNaN: true }),
  speedMps: fc.option(fc.double({ min: 0, max: 350, noNaN: true })),
  headingDeg: fc.option(fc.double({ min: 0, max: 360, noNaN: true })),
})
const offset = fc.record({
  eastM: fc.double({ min: -200, max: 200, noNaN: true }),
  northM: fc.double({ min: -200, max: 200, noNaN: true }),
})

it('begins and ends at the fixes and stays near them, also across the antimeridian', () => {
  fc.assert(
    fc.property(
      knot,
      offset,
      fc.integer({ min: 1, max: 40_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (a, to, durationMs, u) => {
        const report = { tsMs: startMs, fixTs: null, accuracyM: 5, ...a }
        const older = startFix(report, undefined)
        const newer = startFix({ ...report, ...fromPlane(a, to), tsMs: startMs + durationMs }, undefined)
        const chordM = distanceM(older, newer)
        const place = pointOn(curveBetween(undefined, older, newer), u)
        expect(Math.abs(place.lat)).toBeLessThanOrEqual(90)
        expect(Math.abs(place.lon)).toBeLessThanOrEqual(180)
        expect(distanceM(older, pointOn(curveBetween(undefined, older, newer), 0))).toBeLessThan(0.01)
        expect(distanceM(newer, pointOn(curveBetween(undefined, older, newer), 1))).toBeLessThan(0.01)
        // Each end bends the curve by at most 4/27 of three chords.
        expect(distanceM(older, place)).toBeLessThanOrEqual(chordM * (1 + (2 * 3 * 4) / 27) + 0.5)
      },
    ),
  )
})
