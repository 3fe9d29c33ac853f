import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { type MapBackground, outlinesOnly, pmtilesPath, worldPath } from './map-background.ts'
import type { PmtilesFile } from './pmtiles-file.ts'

/** Returns the response to a GET or HEAD request for a file of the web page; undefined for other requests. */
export type WebPage = (request: Request) => Response | Promise<Response> | undefined

/**
 * What the page may do: run its own scripts and workers, call this API, show images that it drew itself, and load the map's
 * background from the configured origins.
 */
const pageHeaders = (mapOrigins: readonly string[]) =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      workerSrc: ["'self'", 'blob:'],
      // MapLibre, the charts and the API reference position their elements with style attributes.
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:', 'blob:', ...mapOrigins],
      connectSrc: ["'self'", ...mapOrigins],
      fontSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // The proxy that ends TLS decides on HTTPS for its whole domain.
    strictTransportSecurity: false,
  })

// Addresses without a file extension, and the file of each.
const documents: Record<string, string> = { '/': 'index.html', '/docs': 'docs.html' }

/**
 * Serves the built web page: the fleet map at `/`, its backgrounds that are files, and the API reference at `/docs`. Writes
 * the router model segment and the settings of the background into the map's document. Returns undefined when the folder has
 * no page; the API works without one. The background may change while the service runs: each request uses the current one.
 *
 * The build puts a hash into the names of files below `assets/`, so browsers keep those for a year. The build also
 * compresses them: `.br` and `.gz` stand beside each file.
 */
export async function openPage(
  folder: string,
  modelSegment: string,
  currentBackground: () => Promise<MapBackground> = async () => outlinesOnly,
): Promise<WebPage | undefined> {
  const etags = await entityTags(folder)
  const index = await readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (index === undefined) return undefined
  const mapWith = (settings: object) => {
    const html = withSettings(index, {
      'router-model-segment': modelSegment,
      'map-background': JSON.stringify(settings),
    })
    return { html, etag: entityTag(html) }
  }
  const files = serveStatic({
    root: folder,
    precompressed: true,
    rewriteRequestPath: (path) => documents[path] ?? path,
  })

  /** What is served while the map has this background. */
  const appOf = ({ settings, origins, world }: MapBackground): Hono => {
    const [mapAlone, mapWithWorld] = [mapWith(settings), mapWith({ ...settings, world: `.${worldPath}` })]
    const app = new Hono()
    app.use(pageHeaders(origins))
    app.use(async (c, next) => {
      const document = c.req.path !== '/' ? undefined : (await world?.exists()) ? mapWithWorld : mapAlone
      const etag = document?.etag ?? etags.get(c.req.path) ?? ''
      if (c.req.header('if-none-match') === etag) c.res = new Response(null, { status: 304 })
      else if (document) c.res = c.html(document.html)
      else await next()
      c.header('ETag', etag)
      c.header('Vary', 'Accept-Encoding')
      c.header('Cache-Control', c.req.path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    })
    app.use(files)
    return app
  }
  const apps = new WeakMap<MapBackground, Hono>()
  const currentApp = async (): Promise<Hono> => {
    const background = await currentBackground()
    const app = apps.get(background) ?? appOf(background)
    apps.set(background, app)
    return app
  }

  return (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const { pathname } = new URL(request.url)
    if (pathname === pmtilesPath) return served(currentBackground(), ({ file }) => file, request)
    if (pathname === worldPath) return served(currentBackground(), ({ world }) => world?.serve, request)
    // The addresses in the documents are relative, so each document has only one address.
    if (pathname === '/docs/') return new Response(null, { status: 308, headers: { Location: '../docs' } })
    return etags.has(pathname) ? currentApp().then((app) => app.fetch(request)) : undefined
  }
}

async function served(
  background: Promise<MapBackground>,
  fileOf: (background: MapBackground) => PmtilesFile | undefined,
  request: Request,
): Promise<Response> {
  const file = fileOf(await background)
  return file ? file(request) : new Response(null, { status: 404 })
}

/** The weak entity tag of every address that the page serves. All encodings of a file have the same tag. */
async function entityTags(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name))
  const tags = files.map(async ({ parentPath, name }): Promise<[string, string]> => {
    const path = join(parentPath, name)
    const file = relative(folder, path).replaceAll(sep, '/')
    const address = Object.keys(documents).find((key) => documents[key] === file) ?? `/${file}`
    return [address, entityTag(await readFile(path))]
  })
  return new Map(await Promise.all(tags))
}

const entityTag = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`

/** Writes settings into the `meta` elements of a document. */
const withSettings = (html: string, settings: Record<string, string>): string =>
  html.replace(/<meta name="([\w-]+)" content="[^"]*/g, (found, name: string) => {
    const value = settings[name]
    return value === undefined ? found : `<meta name="${name}" content="${escaped(value)}`
  })

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
