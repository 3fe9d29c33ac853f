import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { PMTiles, tileIdToZxy } from 'pmtiles'
import { describe, expect, test } from 'vitest'
import { type ArchiveTile, writeArchive } from './archive.ts'

/** Reads an archive with the library of the format's authors. `requests`: how many parts it read. */
function open(archive: Buffer) {
  let requests = 0
  const reader = new PMTiles({
    getKey: () => 'archive',
    getBytes: async (offset, length) => {
      requests += 1
      const { buffer, byteOffset } = archive
      return {
        data: buffer.slice(byteOffset + offset, byteOffset + Math.min(offset + length, archive.length)) as ArrayBuffer,
      }
    },
  })
  const read = async (z: number, x: number, y: number) => {
    const tile = await reader.getZxy(z, x, y)
    return tile && Buffer.from(tile.data).toString()
  }
  return { reader, read, requests: () => requests }
}

function addressOf(id: number) {
  const [z, x, y] = tileIdToZxy(id)
  return { z, x, y }
}

const tileOf = (id: number, text: string): ArchiveTile => ({ ...addressOf(id), data: gzipSync(text) })

describe('an archive', () => {
  test('has a header with its zooms and counts, and its metadata', async () => {
    const { reader } = open(writeArchive([tileOf(6, 'sea'), tileOf(0, 'world'), tileOf(5, 'sea')], { name: 'Test' }))
    expect(await reader.getHeader()).toMatchObject({
      specVersion: 3,
      minZoom: 0,
      maxZoom: 2,
      clustered: true,
      numAddressedTiles: 3,
      numTileEntries: 2,
      numTileContents: 2,
    })
    expect(await reader.getMetadata()).toEqual({ name: 'Test' })
  })

  test('returns every tile, and none that it does not have', async () => {
    const texts = fc.uniqueArray(fc.tuple(fc.nat(400), fc.constantFrom('sea', 'land', 'coast of the land')), {
      selector: ([id]) => id,
    })
    await fc.assert(
      fc.asyncProperty(texts, async (tiles) => {
        const { read } = open(
          writeArchive(
            tiles.map(([id, text]) => tileOf(id, text)),
            {},
          ),
        )
        const held = new Map(tiles)
        for (let id = 0; id <= 400; id += 7) expect(await read(...tileIdToZxy(id))).toBe(held.get(id))
        for (const [id, text] of tiles) expect(await read(...tileIdToZxy(id))).toBe(text)
      }),
      { numRuns: 30 },
    )
  })

  test('with many tiles has leaf directories, of which one request reads the right one', async () => {
    const count = 13_000
    // Lengths without a pattern, so that the directory cannot be compressed well.
    const textOf = (id: number) => {
      const hash = createHash('sha256').update(String(id)).digest()
      return `${id} ${'x'.repeat(hash.readUInt16LE() % 2_000)}`
    }
    const isRead = (id: number) => id % 997 === 0
    // To compress all would take seconds.
    const tiles = Array.from({ length: count }, (_, id) =>
      isRead(id) ? tileOf(id, textOf(id)) : { ...addressOf(id), data: Buffer.from(textOf(id)) },
    )
    const { reader, read, requests } = open(writeArchive(tiles, {}))
    const { leafDirectoryLength, rootDirectoryLength } = await reader.getHeader()
    expect(leafDirectoryLength).toBeGreaterThan(0)
    expect(127 + rootDirectoryLength).toBeLessThanOrEqual(16_384)
    expect(requests()).toBe(1)
    expect(await read(...tileIdToZxy(9_970))).toBe(textOf(9_970))
    // A leaf and the tile.
    expect(requests()).toBe(3)
    for (let id = 0; id < count; id += 997) expect(await read(...tileIdToZxy(id))).toBe(textOf(id))
    expect(await read(...tileIdToZxy(count))).toBeUndefined()
  })

  test('can be empty', async () => {
    expect(await open(writeArchive([], {})).read(0, 0, 0)).toBeUndefined()
  })
})
