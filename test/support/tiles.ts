import { VectorTile } from '@mapbox/vector-tile'
import type { Geometry } from 'geojson'
import { PbfReader } from 'pbf'

export type TileProperties = Record<string, string | number | boolean>

/** A decoded feature, with its geometry in degrees. */
export type DecodedFeature = { properties: TileProperties; geometry: Geometry }

/** Decodes the vector tile `z/x/y`; an empty object for an empty body. Fails if a layer is not version 2 with extent 4096. */
export function decodeTile(bytes: Uint8Array, tile: string): Record<string, DecodedFeature[]> {
  const [z = 0, x = 0, y = 0] = tile.split('/').map(Number)
  const { layers } = new VectorTile(new PbfReader(bytes))
  return Object.fromEntries(
    Object.entries(layers).map(([name, layer]) => {
      if (layer.version !== 2 || layer.extent !== 4_096) throw new Error(`Layer ${name} is not version 2.`)
      const features = Array.from({ length: layer.length }, (_, index): DecodedFeature => {
        const feature = layer.feature(index)
        return { properties: feature.properties, geometry: feature.toGeoJSON(x, y, z).geometry }
      })
      return [name, features]
    }),
  )
}
