import type { Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { matchesNone } from '#http/etag'

/** Returns the response to a GET or HEAD request for the file, or for a range of its bytes. */
export type PmtilesFile = (request: Request) => Promise<Response>

const contentType = 'application/vnd.pmtiles'
// A reader notices by the entity tag that the file was replaced, and reads it again.
const cacheControl = 'public, max-age=3600'
const magic = 'PMTiles'
const version = 3

/** Opens a PMTiles file of version 3 for serving. Throws if the file cannot be read or has another format. */
export async function openPmtiles(path: string): Promise<PmtilesFile> {
  await withFile(path, requirePmtiles)
  return servePmtiles(path)
}

/** Serves a PMTiles file. Every request opens it anew, so that it can be created and replaced while the service runs. */
export function servePmtiles(path: string): PmtilesFile {
  return async (request) => {
    const file = await open(path).catch(() => undefined)
    if (!file) return new Response(null, { status: 404 })
    try {
      const response = await respond(request, file)
      if (response.body === null) await file.close()
      return response
    } catch (error) {
      await file.close()
      throw error
    }
  }
}

/** Answers from the open file. The stream of a response closes the file. */
async function respond({ method, headers: asked }: Request, file: FileHandle): Promise<Response> {
  const stats = await file.stat()
  const { size } = stats
  const etag = tagOf(stats)
  const headers = new Headers({
    ETag: etag,
    'Cache-Control': cacheControl,
    'Accept-Ranges': 'bytes',
    'X-Content-Type-Options': 'nosniff',
  })
  if (matchesNone(asked.get('if-none-match') ?? undefined, etag)) return new Response(null, { status: 304, headers })
  const ifRange = asked.get('if-range')
  const range = ifRange === null || ifRange === etag ? rangeOf(asked.get('range'), size) : undefined
  if (range === 'unsatisfiable') {
    headers.set('Content-Range', `bytes */${size}`)
    return new Response(null, { status: 416, headers })
  }
  const { start, end } = range ?? { start: 0, end: size - 1 }
  headers.set('Content-Type', contentType)
  headers.set('Content-Length', String(end - start + 1))
  if (range) headers.set('Content-Range', `bytes ${start}-${end}/${size}`)
  const status = range ? 206 : 200
  if (method === 'HEAD') return new Response(null, { status, headers })
  const body = Readable.toWeb(file.createReadStream({ start, end })) as ReadableStream<Uint8Array>
  return new Response(body, { status, headers })
}

type ByteRange = { start: number; end: number }

/** Returns the range of a header (RFC 9110, 14.2). Ignores, as allowed, several ranges and other units. */
function rangeOf(header: string | null, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(size, Number(last))
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(size - 1, Number(last))
  if (last !== '' && Number(last) < start) return undefined
  return start >= size ? 'unsatisfiable' : { start, end }
}

const tagOf = ({ size, mtimeMs }: Stats): string => `"${size.toString(36)}-${Math.round(mtimeMs * 1_000).toString(36)}"`

async function requirePmtiles(file: FileHandle): Promise<void> {
  const start = Buffer.alloc(magic.length + 1)
  await file.read(start, 0, start.length, 0)
  if (start.toString('latin1', 0, magic.length) !== magic) throw new Error('is not a PMTiles file')
  if (start[magic.length] !== version) throw new Error(`is not a PMTiles file of version ${version}`)
}

async function withFile(path: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path)
  try {
    await work(file)
  } finally {
    await file.close()
  }
}
