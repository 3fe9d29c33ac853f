import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

type StaticFile = { headers: Record<string, string>; plain: Buffer; gzip: Buffer; br: Buffer }

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.pmtiles': 'application/octet-stream',
}

/**
 * What the page may do: its own scripts, styles and API, MapLibre's worker, and images it drew itself. Inline style
 * attributes are how MapLibre and the charts place their elements; no other origin is ever asked.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Answers a request for one of the page's files; undefined when the request is not for the page. */
export type Page = (request: Request) => Response | undefined

/**
 * Reads the built fleet map page into memory, compressed once, and writes into it which router model is served.
 * Undefined when the folder holds no page: the API serves all the same. Files below `assets/` carry a hash in their
 * names and are kept by browsers for good.
 */
export async function openPage(folder: string, modelSegment: string): Promise<Page | undefined> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = new Map<string, StaticFile>()
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const address = path.slice(folder.replace(/(?<!\/)\/+$/, '').length)
    const content = await readFile(path)
    if (address === '/index.html')
      files.set('/', await compressFile(withModelSegment(content, modelSegment), path, address))
    else files.set(address, await compressFile(content, path, address))
  }
  if (!files.has('/')) return undefined

  return (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const file = files.get(new URL(request.url).pathname)
    if (!file) return undefined
    if (request.headers.get('if-none-match') === file.headers.ETag) {
      return new Response(null, { status: 304, headers: file.headers })
    }
    const accepted = request.headers.get('accept-encoding') ?? ''
    const coding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : 'plain'
    const headers = coding === 'plain' ? file.headers : { ...file.headers, 'Content-Encoding': coding }
    return new Response(request.method === 'HEAD' ? null : new Uint8Array(file[coding]), { headers })
  }
}

// The default, 11, costs a start five seconds of CPU for a tenth less on the wire.
const brotliQuality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

const withModelSegment = (html: Buffer, modelSegment: string): Buffer =>
  Buffer.from(html.toString().replace(/(<meta name="router-model-segment" content=")[^"]*/, `$1${modelSegment}`))

async function compressFile(plain: Buffer, path: string, address: string): Promise<StaticFile> {
  const [zipped, br] = await Promise.all([promisify(gzip)(plain), promisify(brotliCompress)(plain, brotliQuality)])
  return {
    plain,
    gzip: zipped,
    br,
    headers: {
      'Content-Type': contentTypes[extname(path)] ?? 'application/octet-stream',
      'Cache-Control': address.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
      Vary: 'Accept-Encoding',
      'Content-Security-Policy': contentSecurityPolicy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
    },
  }
}
