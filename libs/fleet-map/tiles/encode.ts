import { createHash } from 'node:crypto'
import { fromGeojsonVt } from '@maplibre/vt-pbf'
import type { SharedAnswers } from '#fleet-map/shared-answers'
import { type TileContent, type TileFeature, type TileLayers, tileLayerNames } from '#fleet-map/tiles/tile-feature'
import { extent } from '#fleet-map/tiles/tile-math'
import { type Chunks, lengthOf } from '#http/chunked-body'
import { isCompressible, type ResponseCoding } from '#http/compression'

/** The bytes of a tile, shared by all callers: in a content coding unless it is too short to compress. */
export async function encodedTile(
  encoded: SharedAnswers,
  { etag, layers }: Pick<TileContent, 'etag' | 'layers'>,
  coding: ResponseCoding | undefined,
): Promise<{ coding: ResponseCoding | undefined; chunks: Chunks }> {
  const encode = async () => [encodeTile(layers)]
  const plain = await encoded.read(etag, undefined, encode)
  if (coding === undefined || !isCompressible(lengthOf(plain))) return { coding: undefined, chunks: plain }
  return { coding, chunks: await encoded.read(etag, coding, encode) }
}

/** Encodes layers as a Mapbox Vector Tile 2.1. Layers without features are left out. */
export function encodeTile(layers: TileLayers): Uint8Array<ArrayBuffer> {
  const present = tileLayerNames.flatMap((name) => {
    const features = layers[name]
    return features?.length ? [[name, { features: features.map(encodable) }] as const] : []
  })
  return new Uint8Array(fromGeojsonVt(Object.fromEntries(present) as never, { version: 2, extent }))
}

const encodable = ({ type, geometry, properties, ages }: TileFeature) => ({
  type,
  geometry,
  tags: { ...properties, ...ages },
})

/** A weak entity tag of the content of a tile, without the ages. */
export function tileTag(layers: TileLayers): string {
  const hash = createHash('sha256')
  for (const name of tileLayerNames) {
    hash.update(`${name}\n`)
    for (const { type, geometry, properties } of layers[name] ?? []) {
      hash.update(JSON.stringify([type, geometry, properties]))
    }
  }
  return `W/"${hash.digest('base64url').slice(0, 22)}"`
}
