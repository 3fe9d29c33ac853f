import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  joinRings,
  longitudeSpan,
  meanLongitude,
  onlyRing,
  polygonGeometry,
  smallestBox,
  splitLine,
  splitRing,
  unwrapLine,
  unwrapRing,
} from './antimeridian.ts'
import { contains, longitudeDifference, normalizeLongitude } from './geo.ts'

type Position = [lon: number, lat: number]

const latitude = fc.double({ min: -85, max: 85, noNaN: true })
const longitude = fc.oneof(
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.double({ min: 179, max: 180, noNaN: true }),
  fc.constantFrom(-180, 180, -179.5, 179.5, 0, 90, -90),
)
const point = fc.record({ lat: latitude, lon: longitude })
const line = fc.array(fc.tuple(longitude, latitude), { minLength: 2, maxLength: 12 })

const lengthOf = (path: readonly (readonly number[])[]) =>
  path.reduce((sum, [lon = 0, lat = 0], index) => {
    const [beforeLon = 0, beforeLat = 0] = path[index - 1] ?? [lon, lat]
    return sum + Math.hypot(lon - beforeLon, lat - beforeLat)
  }, 0)

/** Twice the signed area in square degrees; positive if the ring is counter-clockwise. */
const doubleArea = (ring: readonly (readonly number[])[]) =>
  ring.reduce((sum, [lon = 0, lat = 0], index) => {
    const [nextLon = 0, nextLat = 0] = ring[(index + 1) % ring.length] ?? []
    return sum + lon * nextLat - nextLon * lat
  }, 0)

const isOnGlobe = (path: readonly (readonly number[])[]) => path.every(([lon = 0]) => Math.abs(lon) <= 180)

/** A simple ring around a point: corners at growing angles, counter-clockwise. */
const ring = fc
  .tuple(
    longitude,
    fc.double({ min: -60, max: 60, noNaN: true }),
    fc.array(fc.double({ min: 1, max: 25, noNaN: true }), { minLength: 3, maxLength: 12 }),
  )
  .map(([lon, lat, radii]): Position[] => {
    const corners = radii.map((radius, index): Position => {
      const angle = (2 * Math.PI * index) / radii.length
      return [normalizeLongitude(lon + radius * Math.cos(angle)), lat + radius * Math.sin(angle)]
    })
    return [...corners, corners[0] ?? [0, 0]]
  })

describe('a line', () => {
  test('has no jumps after it is unwrapped, and goes through the same positions', () => {
    fc.assert(
      fc.property(line, (path) => {
        const unwrapped = unwrapLine(path)
        for (const [index, [lon, lat]] of unwrapped.entries()) {
          expect(Math.abs(lon - (unwrapped[index - 1]?.[0] ?? lon))).toBeLessThanOrEqual(180)
          expect(Math.abs(longitudeDifference(normalizeLongitude(lon), path[index]?.[0] ?? 0))).toBeCloseTo(0, 9)
          expect(lat).toBe(path[index]?.[1])
        }
      }),
    )
  })

  test('has parts that stay at one side of the meridian, meet at it, and are together as long', () => {
    fc.assert(
      fc.property(line, (path) => {
        const parts = splitLine(path)
        for (const [index, part] of parts.entries()) {
          expect(isOnGlobe(part)).toBe(true)
          expect(part.length).toBeGreaterThan(1)
          for (const [step, [lon]] of part.entries()) {
            expect(Math.abs(lon - (part[step - 1]?.[0] ?? lon))).toBeLessThanOrEqual(180)
          }
          const next = parts[index + 1]?.[0]
          const last = part.at(-1)
          if (next) expect([Math.abs(next[0]), next[0], next[1]]).toEqual([180, -(last?.[0] ?? 0), last?.[1]])
        }
        const lengths = parts.reduce((sum, part) => sum + lengthOf(part), 0)
        expect(lengths).toBeCloseTo(lengthOf(unwrapLine(path)), 6)
      }),
    )
  })

  test('that crosses twice has three parts, with the other numbers interpolated', () => {
    const path: [number, number, number][] = [
      [179, 0, 100],
      [-179, 2, 200],
      [-178, 3, 300],
      [179, 6, 400],
    ]
    expect(splitLine(path)).toEqual([
      [
        [179, 0, 100],
        [180, 1, 150],
      ],
      [
        [-180, 1, 150],
        [-179, 2, 200],
        [-178, 3, 300],
        [-180, 5, expect.closeTo(366.67, 1)],
      ],
      [
        [180, 5, expect.closeTo(366.67, 1)],
        [179, 6, 400],
      ],
    ])
  })

  test.each<[string, Position[], Position[][]]>([
    [
      'along the meridian',
      [
        [180, 0],
        [-180, 1],
        [180, 2],
      ],
      [
        [
          [180, 0],
          [180, 1],
          [180, 2],
        ],
      ],
    ],
    [
      'that touches the meridian',
      [
        [179, 0],
        [-180, 1],
        [179, 2],
      ],
      [
        [
          [179, 0],
          [180, 1],
          [179, 2],
        ],
      ],
    ],
    [
      'with a position at the crossing',
      [
        [179, 0],
        [180, 1],
        [-179, 2],
      ],
      [
        [
          [179, 0],
          [180, 1],
        ],
        [
          [-180, 1],
          [-179, 2],
        ],
      ],
    ],
    [
      'that does not cross',
      [
        [-170, 0],
        [10, 1],
        [170, 2],
      ],
      [
        [
          [-170, 0],
          [10, 1],
          [170, 2],
        ],
      ],
    ],
  ])('%s is split where it changes sides', (_, path, parts) => {
    expect(splitLine(path)).toEqual(parts)
  })
})

describe('a ring', () => {
  test('has closed parts in its direction, which make up its area', () => {
    fc.assert(
      fc.property(ring, fc.boolean(), (corners, isReversed) => {
        const path = isReversed ? corners.toReversed() : corners
        const parts = splitRing(path)
        const direction = Math.sign(doubleArea(unwrapLine(path)))
        for (const part of parts) {
          expect(isOnGlobe(part)).toBe(true)
          expect(part.at(-1)).toEqual(part[0])
          expect(doubleArea(part) * direction).toBeGreaterThanOrEqual(-1e-9)
        }
        const areas = parts.reduce((sum, part) => sum + doubleArea(part), 0)
        expect(areas).toBeCloseTo(doubleArea(unwrapLine(path)), 6)
      }),
    )
  })

  test('is the same after its parts are joined, but for where it begins', () => {
    const cornersOf = (path: readonly (readonly number[])[]) =>
      path.slice(1).map(([lon = 0, lat = 0]) => `${((lon + 180) % 360).toFixed(9)} ${lat}`)
    fc.assert(
      fc.property(ring, (path) => {
        const joined = joinRings(splitRing(path))
        expect(joined.at(-1)).toEqual(joined[0])
        const [corners, expected] = [cornersOf(joined), cornersOf(path)]
        const start = corners.indexOf(expected[0] ?? '')
        expect([...corners.slice(start), ...corners.slice(0, start)]).toEqual(expected)
      }),
    )
  })

  test('across the meridian is a MultiPolygon, another one a Polygon', () => {
    const box = (west: number, east: number): Position[] => [
      [west, 0],
      [east, 0],
      [east, 1],
      [west, 1],
      [west, 0],
    ]
    expect(polygonGeometry(box(178, 180))).toEqual({ type: 'Polygon', coordinates: [box(178, 180)] })
    expect(polygonGeometry(box(178, -180))).toEqual({ type: 'Polygon', coordinates: [box(178, 180)] })
    const { type, coordinates } = polygonGeometry(box(178, -179))
    expect(type).toBe('MultiPolygon')
    expect(coordinates).toHaveLength(2)
    expect(coordinates).toContainEqual([
      [
        [180, 1],
        [178, 1],
        [178, 0],
        [180, 0],
        [180, 1],
      ],
    ])
  })

  test('with an edge on the meridian is split, and joined with all its corners', () => {
    const stair: Position[] = [
      [178, 0],
      [180, 0],
      [180, 1],
      [-178, 1],
      [-178, 3],
      [178, 3],
      [178, 0],
    ]
    expect(splitRing(stair)).toHaveLength(2)
    const joined = joinRings(splitRing(stair)).map(([lon, lat]) => `${Math.abs(lon)} ${lat}`)
    expect(new Set(joined)).toEqual(new Set(stair.map(([lon, lat]) => `${Math.abs(lon)} ${lat}`)))
  })

  test('is read from its sides, but not from several polygons', () => {
    fc.assert(
      fc.property(ring, (path) => {
        const sides = splitRing(path)
        const corners = onlyRing(sides.toReversed())
        expect(new Set(corners?.map(([, lat]) => lat))).toEqual(new Set(path.map(([, lat]) => lat)))
      }),
    )
    const box = (west: number, south: number): Position[] => [
      [west, south],
      [west + 1, south],
      [west + 1, south + 1],
      [west, south + 1],
      [west, south],
    ]
    expect(onlyRing([])).toBeUndefined()
    expect(onlyRing([box(0, 0), box(2, 0)])).toBeUndefined()
    expect(onlyRing([box(179, 0), box(-180, 5)])).toBeUndefined()
    expect(onlyRing([box(179, 0), box(-180, 0), box(4, 0)])).toBeUndefined()
    expect(onlyRing([box(179, 0), box(-180, 0)])).toHaveLength(5)
  })

  test('with two bays across the meridian has a part for each', () => {
    const fork: Position[] = [
      [170, 0],
      [-170, 0],
      [-170, 2],
      [175, 3],
      [-170, 4],
      [-170, 6],
      [170, 6],
      [170, 0],
    ]
    expect(splitRing(fork)).toHaveLength(3)
  })

  test.each([1, -1])('around the pole of hemisphere %i reaches from −180 to 180 and to the pole', (hemisphere) => {
    const around = [0, 120, -120, 0].map((lon): Position => [lon, 80 * hemisphere])
    const [part, ...others] = splitRing(around)
    expect(others).toEqual([])
    expect(Math.abs(doubleArea(part ?? []))).toBeCloseTo(2 * 360 * 10, 6)
    expect(Math.abs(doubleArea(unwrapRing(around)))).toBeCloseTo(2 * 360 * 10, 6)
    expect(isOnGlobe(part ?? [])).toBe(true)
  })
})

describe('a box', () => {
  test('contains all positions, and no box that begins at another one is narrower', () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 12 }), (points) => {
        const box = smallestBox(points)
        if (!box) throw new Error('There is no box.')
        for (const { lat, lon } of points) expect(contains(box, lat, lon)).toBe(true)
        const width = (west: number, east: number) => (east - west + 720) % 360
        const widest = ({ lon: west }: { lon: number }) => Math.max(...points.map(({ lon }) => width(west, lon)))
        expect(width(box[0], box[2])).toBeCloseTo(Math.min(...points.map(widest)), 9)
      }),
    )
  })

  test.each([
    [
      [178.44, -179.95],
      [178.44, -179.95],
    ],
    [
      [-180, 178],
      [178, 180],
    ],
    [
      [180, -178],
      [-180, -178],
    ],
    [[180], [180, 180]],
    [
      [-180, 180],
      [-180, -180],
    ],
    [
      [0, 179],
      [0, 179],
    ],
    [
      [-120, 0, 120],
      [-120, 120],
    ],
  ])('around the longitudes %j is %j', (longitudes, span) => {
    expect(longitudeSpan(longitudes)).toEqual(span)
  })

  test('has −180 and 180 inside or outside together', () => {
    for (const box of [
      [178, 0, 180, 1],
      [-180, 0, -178, 1],
      [178, 0, -180, 1],
      [180, 0, -180, 1],
      [180, 0, 180, 1],
    ] as const) {
      expect([contains(box, 0, 180), contains(box, 0, -180)]).toEqual([true, true])
    }
    expect([contains([-179, 0, 179, 1], 0, 180), contains([-179, 0, 179, 1], 0, -180)]).toEqual([false, false])
  })
})

test.each([
  [[179, -179], 180],
  [[-179, 179, -178], -179.333_333],
  [[10, 20], 15],
])('the mean of the longitudes %j is %d', (longitudes, mean) => {
  expect(Math.abs(longitudeDifference(meanLongitude(longitudes), mean))).toBeCloseTo(0, 5)
})
