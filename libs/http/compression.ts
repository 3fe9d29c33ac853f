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
// Brotli's default quality is made for files compressed once; 4 costs about as much as gzip and is smaller.
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const gzipOptions = { level: 5 }
// On answers of megabytes this is as small as brotli's 4 in a fifth of its time.
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type Coding = 'zstd' | 'br' | 'gzip'

const zstdBytes = promisify(zstdCompress)
const brotliBytes = promisify(brotliCompress)
const gzipBytes = promisify(gzip)

const compressors: Record<Coding, (bytes: Uint8Array) => Promise<Buffer<ArrayBuffer>>> = {
  zstd: (bytes) => zstdBytes(bytes, zstdOptions),
  br: (bytes) => brotliBytes(bytes, brotliOptions),
  gzip: (bytes) => gzipBytes(bytes, gzipOptions),
}
const compressorStreams = {
  zstd: () => createZstdCompress(zstdOptions),
  br: () => createBrotliCompress(brotliOptions),
  gzip: () => createGzip(gzipOptions),
}
const preferred: readonly Coding[] = ['zstd', 'br', 'gzip']

/** The content coding to answer with: zstd, else brotli, else gzip, else none. `q=0` refuses a coding (RFC 9110 12.5.3). */
export function chooseCoding(acceptEncoding: string | null | undefined): Coding | undefined {
  if (!acceptEncoding) return undefined
  const accepted = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    accepted.set(coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  // Who only says `*` may well be too old for zstd.
  const allows = (coding: Coding) => (accepted.get(coding) ?? (coding === 'zstd' ? 0 : accepted.get('*')) ?? 0) > 0
  return preferred.find(allows)
}

/** Chunks in a coding, compressed as they come, off the event loop. */
export function compressChunks(chunks: Chunks, coding: Coding): AsyncIterable<Buffer> {
  return compose(Readable.from([...chunks]), compressorStreams[coding]()) as AsyncIterable<Buffer>
}

/** Says that the answer depends on `Accept-Encoding`, once, beside what `Vary` says already. */
export function varyByEncoding(headers: Headers): void {
  const named = (headers.get('vary') ?? '').toLowerCase().split(',')
  if (named.some((name) => name.trim() === 'accept-encoding' || name.trim() === '*')) return
  headers.append('vary', 'accept-encoding')
}

/** A whole body, compressed off the event loop when that is worth it; sets the headers that say so. */
export async function encodeChunks(chunks: Chunks, coding: Coding | undefined, headers: Headers): Promise<Chunks> {
  varyByEncoding(headers)
  if (coding === undefined || lengthOf(chunks) < minBytes) return chunks
  headers.set('content-encoding', coding)
  const [only] = chunks
  if (only && chunks.length === 1) return [await compressors[coding](only)]
  return collect(compressChunks(chunks, coding))
}

/** A streamed body, compressed as it flows; sets the headers that say so. */
export function encodeStream(
  stream: ReadableStream<Uint8Array>,
  coding: Coding | undefined,
  headers: Headers,
): ReadableStream<Uint8Array> {
  varyByEncoding(headers)
  if (coding === undefined) return stream
  headers.set('content-encoding', coding)
  headers.delete('content-length')
  const encoder = Duplex.toWeb(compressorStreams[coding]())
  return stream.pipeThrough(encoder as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)
}
