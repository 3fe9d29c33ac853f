import { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'

const minBytes = 1_024
// Brotli's default quality is made for files compressed once; 4 costs about as much as gzip and is smaller.
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const gzipOptions = { level: 5 }
const brotliText = promisify(brotliCompress)
const gzipText = promisify(gzip)

export type Coding = 'br' | 'gzip'

/** The content coding to answer with: brotli, else gzip, else none. `q=0` refuses a coding (RFC 9110 12.5.3). */
export function chooseCoding(acceptEncoding: string | null | undefined): Coding | undefined {
  if (!acceptEncoding) return undefined
  const accepted = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    accepted.set(coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  const allows = (coding: Coding) => (accepted.get(coding) ?? accepted.get('*') ?? 0) > 0
  return allows('br') ? 'br' : allows('gzip') ? 'gzip' : undefined
}

/** A whole text body, compressed off the event loop when that is worth it; sets the headers that say so. */
export async function encodeText(
  text: string,
  coding: Coding | undefined,
  headers: Headers,
): Promise<Uint8Array<ArrayBuffer> | string> {
  headers.append('vary', 'accept-encoding')
  if (coding === undefined || text.length < minBytes) return text
  headers.set('content-encoding', coding)
  const encoded = coding === 'br' ? await brotliText(text, brotliOptions) : await gzipText(text, gzipOptions)
  return new Uint8Array(encoded)
}

/** A streamed body, compressed as it flows; sets the headers that say so. */
export function encodeStream(
  stream: ReadableStream<Uint8Array>,
  coding: Coding | undefined,
  headers: Headers,
): ReadableStream<Uint8Array> {
  headers.append('vary', 'accept-encoding')
  if (coding === undefined) return stream
  headers.set('content-encoding', coding)
  headers.delete('content-length')
  const encoder = Duplex.toWeb(coding === 'br' ? createBrotliCompress(brotliOptions) : createGzip(gzipOptions))
  return stream.pipeThrough(encoder as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)
}
