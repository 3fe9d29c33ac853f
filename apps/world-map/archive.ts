import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { Compression, type Entry, TileType, zxyToTileId } from 'pmtiles'
import { serializeDirectory } from './directory.ts'

/** A vector tile, compressed with gzip. */
export type ArchiveTile = { z: number; x: number; y: number; data: Buffer }

const headerBytes = 127
/** A reader loads the header and the root directory with its first request, which is of this size. */
const firstRequestBytes = 16_384
const entriesPerLeaf = 4_096
const world = { west: -180, south: -85.051129, east: 180, north: 85.051129 }

/**
 * Returns a PMTiles archive, version 3: header, root directory, metadata, leaf directories and tiles, each tile content once
 * (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md).
 */
export function writeArchive(tiles: Iterable<ArchiveTile>, metadata: object): Buffer {
  const { entries, contents, addressed, minZoom, maxZoom } = placeTiles(tiles)
  const { root, leaves } = writeDirectories(entries)
  const description = gzipSync(JSON.stringify(metadata))
  const sections = [root, description, leaves, Buffer.concat(contents)]
  const header = Buffer.alloc(headerBytes)
  header.write('PMTiles\x03', 'latin1')
  let offset = headerBytes
  for (const [index, { length }] of sections.entries()) {
    header.writeBigUInt64LE(BigInt(offset), 8 + 16 * index)
    header.writeBigUInt64LE(BigInt(length), 16 + 16 * index)
    offset += length
  }
  for (const [index, count] of [addressed, entries.length, contents.length].entries())
    header.writeBigUInt64LE(BigInt(count), 72 + 8 * index)
  const isClustered = 1
  header.set([isClustered, Compression.Gzip, Compression.Gzip, TileType.Mvt, minZoom, maxZoom], 96)
  for (const [index, degrees] of [world.west, world.south, world.east, world.north].entries())
    header.writeInt32LE(Math.round(degrees * 1e7), 102 + 4 * index)
  return Buffer.concat([header, ...sections])
}

/** Gives each tile its place in the archive, by its Hilbert id. Equal neighbours become one entry. */
function placeTiles(tiles: Iterable<ArchiveTile>) {
  const sorted = Array.from(tiles, ({ z, x, y, data }) => ({ id: zxyToTileId(z, x, y), z, data }))
  sorted.sort((a, b) => a.id - b.id)
  const places = new Map<string, { offset: number; length: number }>()
  const entries: Entry[] = []
  const contents: Buffer[] = []
  let bytes = 0
  for (const { id, data } of sorted) {
    const key = createHash('sha256').update(data).digest('base64')
    let place = places.get(key)
    if (!place) {
      place = { offset: bytes, length: data.length }
      places.set(key, place)
      contents.push(data)
      bytes += data.length
    }
    const last = entries.at(-1)
    if (last?.offset === place.offset && last.tileId + last.runLength === id) last.runLength += 1
    else entries.push({ tileId: id, ...place, runLength: 1 })
  }
  const [minZoom, maxZoom] = [sorted[0]?.z ?? 0, sorted.at(-1)?.z ?? 0]
  return { entries, contents, addressed: sorted.length, minZoom, maxZoom }
}

/** Returns the root directory, and the leaf directories that it refers to if it would be too large for the first request. */
function writeDirectories(entries: readonly Entry[]): { root: Buffer; leaves: Buffer } {
  const limit = firstRequestBytes - headerBytes
  const whole = serializeDirectory(entries)
  if (whole.length <= limit) return { root: whole, leaves: Buffer.alloc(0) }
  for (let size = entriesPerLeaf; ; size *= 2) {
    const leaves: Buffer[] = []
    const references: Entry[] = []
    let offset = 0
    for (let at = 0; at < entries.length; at += size) {
      const leaf = serializeDirectory(entries.slice(at, at + size))
      // A run length of 0 refers to a leaf.
      references.push({ tileId: entries[at]?.tileId ?? 0, offset, length: leaf.length, runLength: 0 })
      leaves.push(leaf)
      offset += leaf.length
    }
    const root = serializeDirectory(references)
    if (root.length <= limit) return { root, leaves: Buffer.concat(leaves) }
  }
}
