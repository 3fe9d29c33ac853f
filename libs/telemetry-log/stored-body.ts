import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Coding, TelemetryBatch } from '#telemetry-log/log'

/*
 * How a frame keeps a body: as it was decompressed, or as it was sent, behind its decompressed length as u32. Ordinary
 * reports compress 5 to 8 times and are kept decompressed, so that the writer need not do it again. What compresses far
 * better is hardly telemetry, and must not let a sender fill the disk with a thousand times what it sends.
 */
const keptCompressedFrom = 16
const lengthBytes = 4

// Written by their place in this list, which therefore only ever grows.
const codings: readonly (Coding | 'identity')[] = ['identity', 'gzip', 'zstd']

export type StoredBody = { codingCode: number; bytes: Buffer }

/** The bytes a frame keeps of a batch's body. */
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
export const decompressedBytes = ({ codingCode, bytes }: StoredBody): number =>
  codingCode === 0 || bytes.length < lengthBytes ? bytes.length : bytes.readUInt32LE(0)

/** The decompressed body. Throws when it does not decompress to the length it was kept with. */
export function decompressBody(stored: StoredBody): Buffer {
  const coding = codings[stored.codingCode]
  if (coding === 'identity') return stored.bytes
  const maxOutputLength = decompressedBytes(stored)
  const bytes = stored.bytes.subarray(lengthBytes)
  const body =
    coding === 'gzip' ? gunzipSync(bytes, { maxOutputLength }) : zstdDecompressSync(bytes, { maxOutputLength })
  if (body.length !== maxOutputLength) throw new Error('A body in the log has another length than it was kept with.')
  return body
}
