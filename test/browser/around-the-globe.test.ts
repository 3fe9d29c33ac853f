import { expect, test } from 'vitest'
import { polygonGeometry } from '#telemetry/geo/antimeridian'
import { longitudeDifference } from '#telemetry/geo/geo'
import { outlineOf } from '../../apps/fleet-map/src/map/area-shape.ts'
import { clusterExtent } from '../../apps/fleet-map/src/map/cluster-extent.ts'
import type { TileItem } from '../../apps/fleet-map/src/map/device-tile.ts'
import { routeFeatures, trailFeatures } from '../../apps/fleet-map/src/map/line-features.ts'
import { countries } from '../../apps/fleet-map/src/map/outlines.ts'
import { clickedPlace } from '../../apps/fleet-map/src/map/place-click.ts'
import { type Bounds, boundsOf, type TrailPoint, unwrapBounds } from '../../apps/fleet-map/src/map/surface.ts'
import { isInTile, tilesCovering } from '../../apps/fleet-map/src/map/tile-cover.ts'
import { type LonLat, routeCutter, routeLengthM } from '../../apps/fleet-map/src/route/geometry.ts'
import { areaSummary } from '../../apps/fleet-map/src/views/places/area-text.ts'
import { draftOf } from '../../apps/fleet-map/src/views/places/draft.ts'

// How the page draws what crosses the antimeridian, or reaches around a pole.

/** The largest step in longitude of a line. A flat map draws a larger one around the world. */
const largestStep = (line: readonly (readonly number[])[]) =>
  Math.max(0, ...line.map(([lon = 0], index) => Math.abs(lon - (line[index - 1]?.[0] ?? lon))))

const ferry: LonLat[] = [
  [179.5, -17],
  [-179.5, -17.5],
  [-179, -18],
  [179.8, -18.5],
]

test('a trail that crosses the antimeridian twice is drawn without a line around the world', () => {
  const points = ferry.map(
    ([lon, lat], index): TrailPoint => ({
      ...{ ts: index * 60_000, lat, lon, noService: false, alignment: 'exact', alignErrorM: null },
      // Each change of the colour begins another line.
      quality: index === 2 ? 'poor' : 'good',
    }),
  )
  const lines = trailFeatures(points).map(({ geometry }) => geometry.coordinates)
  expect(lines).toHaveLength(3)
  for (const line of lines) expect(largestStep(line)).toBeLessThan(2)
  for (const [index, line] of lines.slice(1).entries()) expect(line[0]).toEqual(lines[index]?.at(-1))
})

test('a route and its draft are drawn without a line around the world', () => {
  const cut = routeCutter([ferry])
  const lengthM = routeLengthM([ferry])
  const pieces = Array.from({ length: 40 }, (_, step) => cut((step * lengthM) / 40, ((step + 1) * lengthM) / 40))
  expect(largestStep(pieces.flat())).toBeLessThan(2)
  expect(pieces.at(-1)?.at(-1)?.[0]).toBeCloseTo(179.8, 6)
  const [draft] = routeFeatures({ stretches: [], marks: [], draft: ferry })
  expect(largestStep(draft?.geometry.coordinates ?? [])).toBeLessThan(2)
})

test('the box of a line contains the line, and a box of the service is unwrapped to be shown', () => {
  expect(boundsOf(ferry)).toEqual([179.5, -18.5, 181, -17])
  expect(boundsOf([])).toBeNull()
  expect(unwrapBounds([178.44, -18.14, -179.95, -16.8], 8)).toEqual([178.44, -18.14, expect.closeTo(180.05, 6), -16.8])
  expect(unwrapBounds([178.44, -18.14, -179.95, -16.8], -178)[2]).toBeCloseTo(-179.95, 6)
  expect(unwrapBounds([5, 47, 15, 55], 8)).toEqual([5, 47, 15, 55])
})

test.each([
  { lat: -17, lon: 180, radiusM: 50_000 },
  { lat: -17, lon: -180, radiusM: 50_000 },
  { lat: 89.9, lon: 40, radiusM: 100_000 },
  { lat: -89.9, lon: 180, radiusM: 100_000 },
])('the outline of a circle at $lat, $lon has no jump and is closed', (circle) => {
  const ring = outlineOf({ type: 'Circle', ...circle })
  const isAroundPole = Math.abs(circle.lat) > 89
  const edge = ring.filter(([, lat]) => Math.abs(lat) < 90)
  expect(largestStep(isAroundPole ? edge.slice(0, -1) : ring)).toBeLessThan(180)
  const [west, , east] = boundsOf(ring) ?? [0, 0, 0, 0]
  if (isAroundPole) expect(east - west).toBeCloseTo(360, 6)
  else expect(east - west).toBeLessThan(2)
  expect(ring.at(-1)?.[0]).toBeCloseTo(ring[0]?.[0] ?? 0, 9)
})

test('a place that the service sends in two parts has one outline, and the corners that were drawn', () => {
  const corners: LonLat[] = [
    [178, -18],
    [-178, -18],
    [-178, -16],
    [178, -16],
  ]
  const area = polygonGeometry([...corners, [178, -18]])
  expect(area.type).toBe('MultiPolygon')
  expect(draftOf(area).corners.toSorted()).toEqual(corners.toSorted())
  expect(areaSummary(area)).toBe('Polygon, 4 corners')
  expect(largestStep(outlineOf(area))).toBe(4)
  const [west, south, east, north] = boundsOf(outlineOf(area)) ?? [0, 0, 0, 0]
  expect([east - west, south, north]).toEqual([4, -18, -16])
})

test('a click opens a place across the antimeridian in a view of either side', () => {
  const ring = outlineOf({ type: 'Polygon', coordinates: [[...ferry, [179.5, -17]]] })
  const place = { id: 'lagoon', selected: false, ring }
  for (const west of [178, -182]) expect(clickedPlace([place], [west, -19, west + 4, -16])).toBe('lagoon')
  for (const west of [179.9, -180.1]) expect(clickedPlace([place], [west, -17.6, west + 0.2, -17.5])).toBeUndefined()
})

test('a cluster at the antimeridian is split by a box with its devices at both sides', async () => {
  const items = [179.99, -179.99].map(
    (lon): TileItem => ({
      ...{ lon, lat: -17, bounds: [lon, -17, lon, -17], count: 1, quality: null, byQuality: [], device: null },
    }),
  )
  const read = async (tile: { z: number; x: number; y: number }) => items.filter((item) => isInTile(tile, item))
  for (const lon of [179.999, -179.999]) {
    const cluster = { lon, lat: -17, bounds: [lon, -17, lon, -17] as Bounds }
    const [west, , east] = await clusterExtent(read, cluster, 6)
    expect(east - west).toBeLessThan(0.2)
    for (const item of items) {
      const fromMiddle = Math.abs(longitudeDifference(item.lon, (((west + east) / 2 + 540) % 360) - 180))
      expect(fromMiddle).toBeLessThanOrEqual((east - west) / 2)
    }
  }
  expect(tilesCovering([179.9, -17.1, 180.1, -16.9], 8).map(({ x }) => x)).toEqual([255, 0])
})

test('no country but the one around the pole has a line around the world', () => {
  const rings = countries.features.flatMap(({ geometry }) =>
    geometry.type === 'Polygon'
      ? geometry.coordinates
      : geometry.type === 'MultiPolygon'
        ? geometry.coordinates.flat()
        : [],
  )
  const around = rings.filter((ring) => largestStep(ring) > 180)
  expect(around).toHaveLength(1)
  expect(around.flat().some(([, lat]) => lat === -90)).toBe(true)
})
