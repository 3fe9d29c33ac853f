import { Duplex } from 'node:stream'
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

const minBytes = 1_024
// Brotli's default quality is made for files compressed once; 4 costs about as much as gzip and is smaller.
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const gzipOptions = { level: 5 }
// On answers of megabytes this is as small as brotli's 4 in a fifth of its time.
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type Coding = 'zstd' | 'br' | 'gzip'

const zstdText = promisify(zstdCompress)
const brotliText = promisify(brotliCompress)
const gzipText = promisify(gzip)

const compressors: Record<Coding, (text: string) => Promise<Buffer>> = {
  zstd: (text) => zstdText(text, zstdOptions),
  br: (text) => brotliText(text, brotliOptions),
  gzip: (text) => gzipText(text, gzipOptions),
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

/** A whole text in a coding, made off the event loop. */
export const compressText = (text: string, coding: Coding): Promise<Buffer> => compressors[coding](text)

/** Says that the answer depends on `Accept-Encoding`, once, beside what `Vary` says already. */
export function varyByEncoding(headers: Headers): void {
  const named = (headers.get('vary') ?? '').toLowerCase().split(',')
  if (named.some((name) => name.trim() === 'accept-encoding' || name.trim() === '*')) return
  headers.append('vary', 'accept-encoding')
}

/** A whole text body, compressed off the event loop when that is worth it; sets the headers that say so. */
export async function encodeText(
  text: string,
  coding: Coding | undefined,
  headers: Headers,
): Promise<Uint8Array<ArrayBuffer> | string> {
  varyByEncoding(headers)
  if (coding === undefined || text.length < minBytes) return text
  headers.set('content-encoding', coding)
  return new Uint8Array(await compressText(text, coding))
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
