import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Coding, TelemetryBatch } from '#telemetry-log/log'

/*
 * How a frame stores a body: decompressed, or as sent after its decompressed length as u32. Ordinary reports compress 5 to
 * 8 times and are stored decompressed, so that the writer need not decompress them again. A body that compresses much
 * better is stored as sent, so that a small request cannot take much disk space.
 */
const keptCompressedFrom = 16
const lengthBytes = 4
const minChunkBytes = 64

// Values are stored by their index in this list, so only append to it.
const codings: readonly (Coding | 'identity')[] = ['identity', 'gzip', 'zstd']

export type StoredBody = { codingCode: number; bytes: Buffer }

/** Returns the bytes that a frame stores of a batch's body. */
export function storedBodyOf({ body, compressed }: TelemetryBatch): StoredBody {
  if (compressed === undefined || compressed.bytes.length * keptCompressedFrom > body.length) {
    return { codingCode: 0, bytes: body }
  }
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32LE(body.length)
  return { codingCode: codings.indexOf(compressed.coding), bytes: Buffer.concat([length, compressed.bytes]) }
}

export const isKnownCoding = (code: number | undefined): boolean => code !== undefined && code < codings.length

/** The size of a body without decompressing it. */
const decompressedBytes = ({ codingCode, bytes }: StoredBody): number =>
  codingCode === 0 || bytes.length < lengthBytes ? bytes.length : bytes.readUInt32LE(0)

/** Returns the decompressed body. Throws if its length differs from the stored one. */
export function decompressBody(stored: StoredBody): Buffer {
  const coding = codings[stored.codingCode]
  if (coding === 'identity') return stored.bytes
  const maxOutputLength = decompressedBytes(stored)
  const bytes = stored.bytes.subarray(lengthBytes)
  // One chunk that the body does not fill: otherwise zlib collects small chunks and copies them, which takes twice the memory.
  const options = { maxOutputLength, chunkSize: Math.max(minChunkBytes, maxOutputLength + 1) }
  const body = coding === 'gzip' ? gunzipSync(bytes, options) : zstdDecompressSync(bytes, options)
  if (body.length !== maxOutputLength) throw new Error('A body in the log does not have its stored length.')
  return body
}
