import { VectorTile } from '@mapbox/vector-tile'
import fc from 'fast-check'
import { cellToBoundary, gridDisk, latLngToCell } from 'h3-js'
import { PbfReader } from 'pbf'
import { expect, test } from 'vitest'
import { clipped } from '#fleet-map/tiles/clip'
import { createCoverageShapes } from '#fleet-map/tiles/coverage-layer'
import { encodeTile, tileTag } from '#fleet-map/tiles/encode'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { type Tile, tileOf } from '#fleet-map/tiles/tile-math'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { worldPoint } from '#telemetry/geo/mercator'

const cellOf = (h3: string): { item: DatedCoverageCell; isGone: boolean } => ({
  item: {
    ...{ h3, samples: 5, devices: 1, serviceRatio: 1, quality: 'good', confidence: 'low', lastAt: '' },
    ...{ rsrpDbm: { p10: null, p50: -90, p90: null }, sinrDb: { p10: null, p50: null }, byRat: {}, byPlmn: {} },
  },
  isGone: false,
})

const area = (ring: readonly (readonly [number, number])[]) =>
  ring.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length] ?? [x, y]
    return sum + (x * nextY - nextX * y) / 2
  }, 0)

const inside = (features: readonly TileFeature[]) =>
  features.reduce(
    (sum, { type, geometry }) =>
      sum + (type === 3 ? geometry.reduce((part, ring) => part + area(clipped(ring, 0, 4_096)), 0) : 0),
    0,
  )

/** The tiles of a zoom that the boundary of a cell can reach. */
function tilesAround(h3: string, z: number): Tile[] {
  const tiles = new Map<string, Tile>()
  for (const [lat, lon] of cellToBoundary(h3)) {
    const { x, y } = tileOf(worldPoint(lat, lon), z)
    for (const dx of [-1, 0, 1]) {
      for (const dy of [-1, 0, 1]) {
        const tile = { z, x: (x + dx + 2 ** z) % 2 ** z, y: y + dy }
        if (tile.y >= 0 && tile.y < 2 ** z) tiles.set(`${tile.x}/${tile.y}`, tile)
      }
    }
  }
  return [...tiles.values()]
}

test('the parts of a cell in all tiles make up the whole cell, also across the antimeridian', async () => {
  const place = fc.tuple(
    fc.double({ min: -80, max: 80, noNaN: true }),
    fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.constantFrom(180, -180, 179.99, -179.99, 0)),
  )
  await fc.assert(
    fc.asyncProperty(place, fc.integer({ min: 4, max: 8 }), async ([lat, lon], resolution) => {
      const shapes = createCoverageShapes()
      const h3 = latLngToCell(lat, lon, resolution)
      const z = resolution + 2
      const whole = await shapes.features([cellOf(h3)], tileOf(worldPoint(lat, lon), z))
      expect(whole.length).toBeLessThanOrEqual(1)
      let sum = 0
      for (const tile of tilesAround(h3, z)) {
        const features = await shapes.features([cellOf(h3)], tile)
        for (const { type, geometry } of features) {
          if (type !== 3) throw new Error('Not a polygon.')
          for (const ring of geometry) {
            expect(area(ring)).toBeGreaterThan(0)
            expect(ring[0]).toEqual(ring.at(-1))
            for (const [x, y] of ring) expect(Math.min(x, y) >= -64 && Math.max(x, y) <= 4_160).toBe(true)
          }
        }
        sum += inside(features)
      }
      const [, firstLon = 0] = cellToBoundary(h3)[0] ?? []
      const ring = cellToBoundary(h3).map(([atLat, atLon]) => {
        const turned = atLon - firstLon > 180 ? atLon - 360 : atLon - firstLon < -180 ? atLon + 360 : atLon
        return worldPoint(atLat, turned)
      })
      const expected = Math.abs(area(ring)) * (2 ** z * 4_096) ** 2
      expect(sum / expected).toBeCloseTo(1, 1)
    }),
  )
})

test('a cell over the antimeridian is one feature of the tile of the whole world, with a part at each side', async () => {
  const h3 = latLngToCell(-17, 180, 4)
  const [feature, ...more] = await createCoverageShapes().features([cellOf(h3)], { z: 0, x: 0, y: 0 })
  expect(more).toEqual([])
  expect(feature?.geometry).toHaveLength(2)
})

test('an encoded tile is read by another decoder, without properties that have no value', async () => {
  const h3 = latLngToCell(51.9, -8.47, 6)
  const tile = tileOf(worldPoint(51.9, -8.47), 8)
  const coverage = await createCoverageShapes().features(gridDisk(h3, 1).map(cellOf), tile)
  const layers = { devices: [], coverage }
  const { layers: decoded } = new VectorTile(new PbfReader(encodeTile(layers)))
  expect(Object.keys(decoded)).toEqual(['coverage'])
  const layer = decoded.coverage
  expect([layer?.version, layer?.extent, layer?.length]).toEqual([2, 4_096, coverage.length])
  expect(layer?.feature(0).properties).toEqual({
    ...{ h3, samples: 5, devices: 1, serviceRatio: 1, rsrpP50Dbm: -90, quality: 'good', confidence: 'low' },
  })
  expect(layer?.feature(0).toGeoJSON(tile.x, tile.y, tile.z).geometry.type).toBe('Polygon')
})

test('the entity tag changes with the content, but not with ages', () => {
  const device = (ageS: number, name = 'Bus'): TileFeature => ({
    ...{ type: 1, geometry: [[1, 2]] },
    ...{ properties: { deviceId: 'a', name }, ages: { ageS } },
  })
  const tag = tileTag({ devices: [device(1)] })
  expect(tileTag({ devices: [device(2)] })).toBe(tag)
  expect(tileTag({ devices: [device(1, 'Tram')] })).not.toBe(tag)
  expect(tileTag({ dwells: [device(1)] })).not.toBe(tag)
})
