import { compose, Duplex, Readable } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib'
import { type Chunks, collect, lengthOf } from '#http/chunked-body'

const minBytes = 1_024
// Brotli's default quality is meant for static files. Quality 4 costs about as much as gzip and compresses better.
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const gzipOptions = { level: 5 }
// For responses of several megabytes, as small as brotli at quality 4 in a fifth of the time.
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type ResponseCoding = 'zstd' | 'br' | 'gzip'

const zstdBytes = promisify(zstdCompress)
const brotliBytes = promisify(brotliCompress)
const gzipBytes = promisify(gzip)

const compressors: Record<ResponseCoding, (bytes: Uint8Array) => Promise<Buffer<ArrayBuffer>>> = {
  zstd: (bytes) => zstdBytes(bytes, zstdOptions),
  br: (bytes) => brotliBytes(bytes, brotliOptions),
  gzip: (bytes) => gzipBytes(bytes, gzipOptions),
}
const compressorStreams = {
  zstd: () => createZstdCompress(zstdOptions),
  br: () => createBrotliCompress(brotliOptions),
  gzip: () => createGzip(gzipOptions),
}
const preferred: readonly ResponseCoding[] = ['zstd', 'br', 'gzip']

/**
 * Chooses the content coding of a response: the first of `among` that the client accepts, or none. `q=0` excludes a coding
 * (RFC 9110 12.5.3).
 */
export function chooseCoding(
  acceptEncoding: string | null | undefined,
  among: readonly ResponseCoding[] = preferred,
): ResponseCoding | undefined {
  if (!acceptEncoding) return undefined
  const accepted = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    accepted.set(coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  // A client that only sends `*` may not support zstd.
  const allows = (coding: ResponseCoding) =>
    (accepted.get(coding) ?? (coding === 'zstd' ? 0 : accepted.get('*')) ?? 0) > 0
  return among.find(allows)
}

/** Whether compressing a body of this length is worthwhile. */
export const isCompressible = (bytes: number): boolean => bytes >= minBytes

/** Compresses chunks as they come, outside the event loop. */
export function compressChunks(chunks: Chunks, coding: ResponseCoding): AsyncIterable<Buffer> {
  return compose(Readable.from([...chunks]), compressorStreams[coding]()) as AsyncIterable<Buffer>
}

/** Adds `Accept-Encoding` to the `Vary` header unless it is there. */
export function varyByEncoding(headers: Headers): void {
  const named = (headers.get('vary') ?? '').toLowerCase().split(',')
  if (named.some((name) => name.trim() === 'accept-encoding' || name.trim() === '*')) return
  headers.append('vary', 'accept-encoding')
}

/** Compresses a body of 1 KiB or more outside the event loop, and sets `Content-Encoding` and `Vary`. */
export async function encodeChunks(
  chunks: Chunks,
  coding: ResponseCoding | undefined,
  headers: Headers,
): Promise<Chunks> {
  varyByEncoding(headers)
  if (coding === undefined || !isCompressible(lengthOf(chunks))) return chunks
  headers.set('content-encoding', coding)
  const [only] = chunks
  if (only && chunks.length === 1) return [await compressors[coding](only)]
  return collect(compressChunks(chunks, coding))
}

/** Compresses a streamed body, and sets `Content-Encoding` and `Vary`. */
export function encodeStream(
  stream: ReadableStream<Uint8Array>,
  coding: ResponseCoding | undefined,
  headers: Headers,
): ReadableStream<Uint8Array> {
  varyByEncoding(headers)
  if (coding === undefined) return stream
  headers.set('content-encoding', coding)
  headers.delete('content-length')
  const encoder = Duplex.toWeb(compressorStreams[coding]())
  return stream.pipeThrough(encoder as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)
}
