import { gunzipSync } from 'node:zlib'
import type { FeatureCollection } from 'geojson'
import { expect, test } from 'vitest'
import { worldPoint } from '#telemetry/geo/mercator'
import { decodeTile } from '#test/tiles'
import { maxTileZoom, type WorldLayers, worldTiles } from './tiles.ts'

const shape = (geometry: FeatureCollection['features'][number]['geometry']): FeatureCollection => ({
  type: 'FeatureCollection',
  features: [{ type: 'Feature', properties: {}, geometry }],
})

const [arnhemX, arnhemY] = worldPoint(51.98, 5.91)
const [northX, northY] = worldPoint(88, 0)

/** An island with a border, two towns and the name of its country; a third town is beyond the edge of the map. */
const layers: WorldLayers = {
  land: shape({
    type: 'Polygon',
    coordinates: [
      [
        [5, 51],
        [7, 51],
        [7, 53],
        [5, 53],
        [5, 51],
      ],
    ],
  }),
  borders: shape({
    type: 'LineString',
    coordinates: [
      [6, 51],
      [6, 53],
    ],
  }),
  countries: [{ name: 'Island', x: arnhemX, y: arnhemY, minZoom: 4, order: 0 }],
  towns: [
    { name: 'Arnhem', x: arnhemX, y: arnhemY, minZoom: 5, rank: 52 },
    { name: 'Velp', x: arnhemX + 1e-4, y: arnhemY, minZoom: 11, rank: 43 },
    { name: 'North Pole', x: northX, y: northY, minZoom: 0, rank: 30 },
  ],
}

const tiles = Array.from(worldTiles(layers), ({ z, x, y, data }) => ({
  z,
  path: `${z}/${x}/${y}`,
  layers: decodeTile(gunzipSync(data), `${z}/${x}/${y}`),
}))
const at = (zoom: number) => tiles.filter(({ z }) => z === zoom)
const namesAt = (zoom: number, layer: 'countries' | 'towns') =>
  at(zoom).flatMap((tile) => (tile.layers[layer] ?? []).map(({ properties }) => properties.name))

test('tiles exist where something is, at every zoom', () => {
  const zooms = [...new Set(tiles.map(({ z }) => z))]
  expect(zooms).toEqual([0, 1, 2, 3, 4, 5, 6, maxTileZoom])
  expect(at(0).map(({ path }) => path)).toEqual(['0/0/0'])
  expect(at(maxTileZoom).length).toBeLessThan(10)
  for (const tile of tiles) expect(Object.keys(tile.layers)).toContain('land')
})

test('a name is in the tiles from its zoom on, and every name in those of the last zoom', () => {
  expect(namesAt(3, 'countries')).toEqual([])
  expect(namesAt(4, 'countries')).toEqual(['Island'])
  expect(namesAt(4, 'towns')).toEqual([])
  expect(namesAt(5, 'towns')).toEqual(['Arnhem'])
  expect(namesAt(6, 'towns')).toEqual(['Arnhem'])
  expect(namesAt(maxTileZoom, 'towns')).toEqual(['Arnhem', 'Velp'])
})

test('a name is at its place, with what the style needs', () => {
  const [arnhem] = at(maxTileZoom).flatMap((tile) => tile.layers.towns ?? [])
  expect(arnhem?.properties).toEqual({ name: 'Arnhem', minZoom: 5, rank: 52 })
  expect(arnhem?.geometry).toEqual({
    type: 'Point',
    coordinates: [expect.closeTo(5.91, 2), expect.closeTo(51.98, 2)],
  })
})

test('nothing makes no tiles', () => {
  const empty: FeatureCollection = { type: 'FeatureCollection', features: [] }
  expect([...worldTiles({ land: empty, borders: empty, countries: [], towns: [] })]).toEqual([])
})
