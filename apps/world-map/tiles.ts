import { gzipSync } from 'node:zlib'
import { GeoJSONVT, type GeoJSONVTFeature } from '@maplibre/geojson-vt'
import { fromGeojsonVt } from '@maplibre/vt-pbf'
import type { FeatureCollection } from 'geojson'
import type { ArchiveTile } from './archive.ts'
import type { CountryName } from './atlas.ts'
import type { TownName } from './town-names.ts'

/** What the world map shows, each a layer of its tiles. */
export type WorldLayers = {
  land: FeatureCollection
  borders: FeatureCollection
  countries: readonly CountryName[]
  towns: readonly TownName[]
}

/** At higher zooms the page enlarges these tiles: a step of a tile is 76 m, finer than the outlines. */
export const maxTileZoom = 7
const extent = 4_096
/** Outlines are simplified by up to 3/8 of a pixel. */
const shapeOptions = { maxZoom: maxTileZoom, indexMaxZoom: 0, indexMaxPoints: 0, tolerance: 3, extent, buffer: 64 }

/** Yields the tiles of the world map that are not empty. */
export function* worldTiles({ land, borders, countries, towns }: WorldLayers): Generator<ArchiveTile> {
  const shapes = { land: new GeoJSONVT(land, shapeOptions), borders: new GeoJSONVT(borders, shapeOptions) }
  for (let z = 0; z <= maxTileZoom; z++) {
    const names = { countries: byTile(countries, z), towns: byTile(towns, z) }
    for (let x = 0; x < 2 ** z; x++)
      for (let y = 0; y < 2 ** z; y++) {
        const key = keyOf(z, x, y)
        const data = encode({
          land: shapes.land.getTile(z, x, y)?.features ?? [],
          borders: shapes.borders.getTile(z, x, y)?.features ?? [],
          countries: names.countries.get(key) ?? [],
          towns: names.towns.get(key) ?? [],
        })
        if (data) yield { z, x, y, data }
      }
  }
}

/** Returns the tile with the layers that have features; undefined without any. */
function encode(layers: Record<keyof WorldLayers, GeoJSONVTFeature[]>): Buffer | undefined {
  const filled = Object.entries(layers).filter(([, features]) => features.length > 0)
  if (filled.length === 0) return undefined
  const tiles = Object.fromEntries(filled.map(([name, features]) => [name, { features }]))
  return gzipSync(fromGeojsonVt(tiles as Parameters<typeof fromGeojsonVt>[0], { version: 2, extent }))
}

const keyOf = (z: number, x: number, y: number): number => y * 2 ** z + x

type Name = { x: number; y: number; minZoom: number }

/** Groups the names that tiles of a zoom show by tile. The tiles of the last zoom have all names, for the zooms above it. */
function byTile(names: readonly Name[], z: number): Map<number, GeoJSONVTFeature[]> {
  const side = 2 ** z
  const tiles = new Map<number, GeoJSONVTFeature[]>()
  for (const { x, y, ...tags } of names) {
    if ((tags.minZoom > z && z < maxTileZoom) || y < 0 || y >= 1) continue
    const [column, row] = [Math.floor(x * side) % side, Math.floor(y * side)]
    const at: [number, number] = [Math.round((x * side - column) * extent), Math.round((y * side - row) * extent)]
    const key = keyOf(z, column, row)
    const point: GeoJSONVTFeature = { type: 1, tags, geometry: [at] }
    const others = tiles.get(key)
    if (others) others.push(point)
    else tiles.set(key, [point])
  }
  return tiles
}
