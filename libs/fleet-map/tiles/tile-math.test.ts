import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ancestorOf,
  descendantsOf,
  maxTileZoom,
  pointInTile,
  tileBox,
  tileKey,
  tileOf,
} from '#fleet-map/tiles/tile-math'
import { maxMercatorLat, worldPoint } from '#telemetry/geo/mercator'

const latitude = fc.double({ min: -90, max: 90, noNaN: true })
const longitude = fc.double({ min: -180, max: 180, noNaN: true })
const zoom = fc.integer({ min: 0, max: maxTileZoom })

describe('a position', () => {
  test('is in one tile of each zoom, whose ancestors are its tiles of the lower zooms', () => {
    fc.assert(
      fc.property(latitude, longitude, zoom, zoom, (lat, lon, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)]
        const tile = tileOf(worldPoint(lat, lon), high)
        expect(Math.min(tile.x, tile.y)).toBeGreaterThanOrEqual(0)
        expect(Math.max(tile.x, tile.y)).toBeLessThan(2 ** high)
        expect(ancestorOf(tile, low)).toEqual(tileOf(worldPoint(lat, lon), low))
      }),
    )
  })

  test('has coordinates inside its tile, which lead back to the position', () => {
    fc.assert(
      fc.property(latitude, longitude, zoom, (lat, lon, z) => {
        const world = worldPoint(lat, lon)
        const tile = tileOf(world, z)
        const [x, y] = pointInTile(world, tile)
        for (const unit of [x, y]) expect(unit === Math.floor(unit) && unit >= 0 && unit < 4_096).toBe(true)
        if (Math.abs(lat) > maxMercatorLat) return
        const unitDeg = 360 / 2 ** z / 4_096
        expect(((tile.x + x / 4_096) / 2 ** z) * 360 - 180).toBeCloseTo(lon, -Math.log10(unitDeg) - 1)
      }),
    )
  })

  test('on a border belongs to the tile in the south-east of it', () => {
    expect(tileOf(worldPoint(0, 0), 1)).toEqual({ z: 1, x: 1, y: 1 })
    expect(tileOf(worldPoint(-0.000_001, -0.000_001), 1)).toEqual({ z: 1, x: 0, y: 1 })
  })

  test('at the antimeridian or beyond the map belongs to the tile at the edge', () => {
    expect(tileOf(worldPoint(0, 180), 4)).toEqual({ z: 4, x: 15, y: 8 })
    expect(tileOf(worldPoint(0, -180), 4)).toEqual({ z: 4, x: 0, y: 8 })
    expect(tileOf(worldPoint(90, 0), 4)).toEqual({ z: 4, x: 8, y: 0 })
    expect(tileOf(worldPoint(-90, 0), 4)).toEqual({ z: 4, x: 8, y: 15 })
  })
})

test('a tile consists of its descendants, each with a key of its own', () => {
  const tile = { z: 2, x: 3, y: 1 }
  const parts = [...descendantsOf(tile, 5)]
  expect(new Set(parts.map(tileKey)).size).toBe(64)
  expect(parts.every((part) => tileKey(ancestorOf(part, 2)) === tileKey(tile))).toBe(true)
})

test('the box of a tile contains all positions of the tile, across the antimeridian and at the poles', () => {
  fc.assert(
    fc.property(latitude, longitude, zoom, fc.integer({ min: 0, max: 40_000 }), (lat, lon, z, marginM) => {
      const [west, south, east, north] = tileBox(tileOf(worldPoint(lat, lon), z), marginM)
      const margin = 1e-9
      expect(lat).toBeGreaterThanOrEqual(south - margin)
      expect(lat).toBeLessThanOrEqual(north + margin)
      const isInside =
        west <= east ? lon >= west - margin && lon <= east + margin : lon >= west - margin || lon <= east + margin
      expect(isInside).toBe(true)
    }),
  )
})
