import { cellToBoundary, latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { cellFeature, trailFeature } from '#fleet-map/gps/formats'

const at = (minute: number) => Date.UTC(2026, 0, 1, 0, minute)
const point = (lat: number, lon: number, minute: number) => ({ lat, lon, tsMs: at(minute) })
const time = (minute: number) => new Date(at(minute)).toISOString()

test('a trail across the antimeridian is a MultiLineString with the times of each part', () => {
  const feature = trailFeature([point(-18, 179.5, 0), point(-18.5, -179.5, 2), point(-18.5, -179, 4)], {
    deviceId: 'a',
  })
  expect(feature).toEqual({
    type: 'Feature',
    geometry: {
      type: 'MultiLineString',
      coordinates: [
        [
          [179.5, -18],
          [180, -18.25],
        ],
        [
          [-180, -18.25],
          [-179.5, -18.5],
          [-179, -18.5],
        ],
      ],
    },
    properties: {
      feature: 'trail',
      deviceId: 'a',
      ts: [
        [time(0), time(1)],
        [time(1), time(2), time(4)],
      ],
    },
  })
})

test('another trail is a LineString, and fewer than two positions have no geometry', () => {
  expect(trailFeature([point(1, 2, 0), point(3, 4, 1)], {})).toMatchObject({
    geometry: {
      type: 'LineString',
      coordinates: [
        [2, 1],
        [4, 3],
      ],
    },
    properties: { ts: [time(0), time(1)] },
  })
  expect(trailFeature([point(1, 2, 0)], {})).toMatchObject({ geometry: null, properties: { ts: [time(0)] } })
  expect(trailFeature([], {})).toMatchObject({ geometry: null, properties: { ts: [] } })
})

test.each([4, 7, 10])('a cell of resolution %i across the antimeridian has a part at each side', (resolution) => {
  const { geometry } = cellFeature(latLngToCell(-17, 180, resolution), {})
  const { type, coordinates } = geometry as { type: string; coordinates: [number, number][][][] }
  expect(type).toBe('MultiPolygon')
  const sides = coordinates.map(([ring = []]) => {
    expect(ring.at(-1)).toEqual(ring[0])
    const lons = ring.map(([lon]) => lon)
    expect(Math.max(...lons) - Math.min(...lons)).toBeLessThan(1)
    return lons.every((lon) => lon > 0 && lon <= 180) ? 'west' : lons.every((lon) => lon < 0 && lon >= -180) && 'east'
  })
  expect(sides.sort()).toEqual(['east', 'west'])
})

test('another cell is a Polygon', () => {
  const h3 = latLngToCell(-17, 170, 7)
  expect(cellFeature(h3, {})).toMatchObject({ geometry: { type: 'Polygon', coordinates: [cellToBoundary(h3, true)] } })
})
