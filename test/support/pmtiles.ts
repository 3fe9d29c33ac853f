import { fromGeojsonVt } from '@maplibre/vt-pbf'

const headerBytes = 127
const extent = 4_096
/** No compression, in the header's words. */
const none = 1
const vectorTiles = 1

type Shape = { type: 1 | 2 | 3; geometry: unknown; tags: Record<string, string | number> }

/** Layers of Protomaps in one tile of the whole world: land in the north, water in the south, a road and a town. */
const world: Record<string, Shape[]> = {
  earth: [{ type: 3, geometry: [square(0, 0, extent, extent / 2)], tags: { kind: 'earth' } }],
  water: [{ type: 3, geometry: [square(0, extent / 2, extent, extent)], tags: { kind: 'ocean' } }],
  roads: [
    {
      type: 2,
      geometry: [
        [
          [0, 1_000],
          [extent, 1_600],
        ],
      ],
      tags: { kind: 'highway', name: 'Long road', min_zoom: 0 },
    },
  ],
  places: [
    {
      type: 1,
      geometry: [[2_150, 1_370]],
      tags: { kind: 'locality', kind_detail: 'city', name: 'Middletown', population_rank: 15, min_zoom: 0 },
    },
  ],
}

function square(west: number, north: number, east: number, south: number): [number, number][] {
  return [
    [west, north],
    [east, north],
    [east, south],
    [west, south],
    [west, north],
  ]
}

/** Returns a PMTiles file of version 3 with one vector tile. `layers` defaults to a world with the layers of Protomaps. */
export function pmtilesWorld(attribution: string, layers: Record<string, Shape[]> = world): Buffer {
  const features = Object.entries(layers).map(([name, shapes]) => [name, { features: shapes }])
  const tile = Buffer.from(fromGeojsonVt(Object.fromEntries(features), { version: 2, extent }))
  const ids = Object.keys(layers).map((id) => ({ id, fields: {} }))
  const metadata = Buffer.from(JSON.stringify({ name: 'World', attribution, vector_layers: ids }))
  // One entry: tile 0, a run of one, its length, and its offset plus one.
  const directory = Buffer.from([1, 0, 1, ...varint(tile.length), 1])
  const header = Buffer.alloc(headerBytes)
  header.write('PMTiles\x03', 'latin1')
  const sections = [directory.length, metadata.length, 0, tile.length]
  let offset = headerBytes
  for (const [index, length] of sections.entries()) {
    header.writeBigUInt64LE(BigInt(offset), 8 + 16 * index)
    header.writeBigUInt64LE(BigInt(length), 16 + 16 * index)
    offset += length
  }
  for (const at of [72, 80, 88]) header.writeBigUInt64LE(1n, at)
  header.set([1, none, none, vectorTiles, 0, 0], 96)
  for (const [at, degrees] of [
    [102, -180],
    [106, -85],
    [110, 180],
    [114, 85],
  ] as const)
    header.writeInt32LE(degrees * 1e7, at)
  return Buffer.concat([header, directory, metadata, tile])
}

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)])
