import { describe, expect, test } from 'vitest'
import { type Area, areaTest, ringFault } from './area.ts'
import { distanceM } from './geo.ts'

type Ring = [number, number][]

const polygon = (...ring: Ring): Area => ({ type: 'Polygon', coordinates: [ring] })
const square: Ring = [
  [8, 50],
  [9, 50],
  [9, 51],
  [8, 51],
  [8, 50],
]

describe('areaTest', () => {
  test('a polygon contains the points inside its edges', () => {
    const { contains, bounds } = areaTest(polygon(...square))
    expect(bounds).toEqual([8, 50, 9, 51])
    expect(contains({ lat: 50.5, lon: 8.5 })).toBe(true)
    expect(contains({ lat: 50.5, lon: 9.001 })).toBe(false)
    expect(contains({ lat: 51.001, lon: 8.5 })).toBe(false)
  })

  test('a polygon contains its corners and edges, at 180° also those of the other side', () => {
    const { contains } = areaTest(polygon(...square))
    for (const [lon, lat] of square) expect(contains({ lat, lon })).toBe(true)
    expect([contains({ lat: 50.5, lon: 9 }), contains({ lat: 51, lon: 8.25 })]).toEqual([true, true])
    const lagoon = areaTest(polygon([170, 0], [180, 0], [180, 4], [170, 4], [170, 0]))
    for (const lon of [180, -180]) expect(lagoon.contains({ lat: 1, lon })).toBe(true)
    expect(lagoon.contains({ lat: 1, lon: -179.999 })).toBe(false)
  })

  test('a concave polygon does not contain its bay', () => {
    const { contains } = areaTest(polygon([0, 0], [4, 0], [4, 4], [2, 1], [0, 4], [0, 0]))
    expect(contains({ lat: 0.5, lon: 2 })).toBe(true)
    expect(contains({ lat: 3, lon: 2 })).toBe(false)
  })

  test('a polygon across the antimeridian contains points on both sides', () => {
    const { contains, bounds } = areaTest(polygon([179, -1], [-179, -1], [-179, 1], [179, 1], [179, -1]))
    expect(bounds).toEqual([179, -1, -179, 1])
    expect(contains({ lat: 0, lon: 179.5 })).toBe(true)
    expect(contains({ lat: 0, lon: -179.5 })).toBe(true)
    expect(contains({ lat: 0, lon: 0 })).toBe(false)
  })

  test.each([
    { lat: 51.9, lon: 4.1, radiusM: 800 },
    { lat: 0, lon: 180, radiusM: 50_000 },
    { lat: 78.2, lon: 15.6, radiusM: 100_000 },
    { lat: 89.9, lon: 0, radiusM: 100_000 },
  ])('a circle around $lat, $lon contains the points within its radius', (circle) => {
    const { contains } = areaTest({ type: 'Circle', ...circle })
    for (let step = 0; step < 360; step += 7) {
      const bearing = (step * Math.PI) / 180
      for (const share of [0.5, 0.99, 1.01, 3]) {
        const degrees = ((circle.radiusM * share) / 6_371_008.8) * (180 / Math.PI)
        const lat = circle.lat + degrees * Math.cos(bearing)
        const lon = circle.lon + (degrees * Math.sin(bearing)) / Math.cos((circle.lat * Math.PI) / 180)
        if (Math.abs(lat) > 90) continue
        const point = { lat, lon: ((((lon + 180) % 360) + 360) % 360) - 180 }
        expect(contains(point)).toBe(distanceM(circle, point) <= circle.radiusM)
      }
    }
  })
})

test.each<[string, Ring, RegExp | undefined]>([
  ['a square', square, undefined],
  [
    'a triangle that touches the antimeridian',
    [
      [170, 0],
      [180, 0],
      [175, 5],
      [170, 0],
    ],
    undefined,
  ],
  [
    'three positions',
    [
      [0, 0],
      [1, 0],
      [0, 0],
    ],
    /at least four/,
  ],
  [
    'an open ring',
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 1],
    ],
    /must equal the first/,
  ],
  [
    'a line',
    [
      [0, 0],
      [1, 1],
      [2, 2],
      [0, 0],
    ],
    /no area/,
  ],
  [
    'a bow tie',
    [
      [0, 0],
      [2, 2],
      [2, 0],
      [0, 3],
      [0, 0],
    ],
    /must not cross/,
  ],
  [
    'half of the globe',
    [
      [-100, 0],
      [0, 0],
      [100, 0],
      [0, 50],
      [-100, 0],
    ],
    /less than 180/,
  ],
])('ringFault of %s', (_, ring, expected) => {
  if (expected) expect(ringFault(ring)).toMatch(expected)
  else expect(ringFault(ring)).toBeUndefined()
})
