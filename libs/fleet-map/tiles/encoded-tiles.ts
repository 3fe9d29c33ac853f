import { LRUCache } from 'lru-cache'
import { encodeTile } from '#fleet-map/tiles/encode'
import type { TileContent } from '#fleet-map/tiles/tile-feature'
import { type Chunks, collect } from '#http/chunked-body'
import { type Coding, compressChunks, isCompressible } from '#http/compression'

/** Encoded tiles by their content, shared by all callers. */
export type EncodedTiles = {
  /**
   * The bytes of a tile, in a content coding unless it is too short to compress. Ages in it are at most ten seconds old.
   */
  read(content: Content, coding: Coding | undefined): Promise<{ coding: Coding | undefined; chunks: Chunks }>
  /** Estimated bytes of the cached tiles. */
  keptBytes(): number
}

type Content = Pick<TileContent, 'etag' | 'layers' | 'nowMs'>
type Encoded = { bytes: Uint8Array<ArrayBuffer>; encodedMs: number; compressed: Map<Coding, Promise<Chunks>> }

const agedAfterMs = 10_000
const tileBytes = 500
// Compressed tiles are smaller, and a tile is read in two codings at most.
const copies = 2

export function createEncodedTiles(maxBytes: number): EncodedTiles {
  const kept = new LRUCache<string, Encoded>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => tileBytes + copies * bytes.length,
  })
  const encoded = ({ etag, layers, nowMs }: Content): Encoded => {
    const known = kept.get(etag)
    if (known && nowMs - known.encodedMs <= agedAfterMs) return known
    const made: Encoded = { bytes: encodeTile(layers), encodedMs: nowMs, compressed: new Map() }
    kept.set(etag, made)
    return made
  }
  return {
    async read(content, coding) {
      const { bytes, compressed } = encoded(content)
      if (coding === undefined || !isCompressible(bytes.length)) return { coding: undefined, chunks: [bytes] }
      const made = compressed.get(coding) ?? collect(compressChunks([bytes], coding))
      compressed.set(coding, made)
      return { coding, chunks: await made }
    },
    keptBytes: () => kept.calculatedSize,
  }
}
