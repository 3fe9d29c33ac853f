import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { startServer } from '#http/server'
import {
  effectiveSettings,
  mapEnvironment,
  mapVariables,
  openMapBackground,
} from '../../apps/control-plane/http/map-background.ts'
import { openPage } from '../../apps/control-plane/http/page.ts'

const folder = join(import.meta.dirname, '../../apps/fleet-map/dist')

/** Serves the page with these settings of the map, and the API of the service. */
export async function servePage(serviceUrl: string, settings: Record<string, string>) {
  const environment = await mapEnvironment(parseConfig(z.object(mapVariables), settings))
  const offline = { background: { kind: 'offline' as const }, satellite: null, origins: [] }
  const background = await openMapBackground(effectiveSettings(environment, offline))
  const page = await openPage(folder, 'router', async () => background)
  if (!page) throw new Error(`${folder} contains no page.`)
  const forwarded = async (request: Request) => {
    const { pathname, search } = new URL(request.url)
    const init = { method: request.method, headers: withoutCoding(request.headers) }
    const { body, status, headers } = await fetch(serviceUrl + pathname + search, init)
    // fetch has decoded the body.
    return new Response(body, { status, headers: withoutCoding(headers) })
  }
  const answer = async (request: Request) => (await page(request)) ?? forwarded(request)
  const server = await startServer(answer, { host: '127.0.0.1', port: 0 })
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

function withoutCoding(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of [
    'accept-encoding',
    'content-encoding',
    'content-length',
    'host',
    'connection',
    'transfer-encoding',
  ])
    kept.delete(name)
  return kept
}

/** One light grey pixel. */
const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGO4ceMGAAUUAol808NhAAAAAElFTkSuQmCC',
  'base64',
)

/** A style with a relative address of its tiles, as a file on a web server has. */
const style = {
  version: 8,
  sources: {
    streets: { type: 'raster', tiles: ['./streets/{z}/{x}/{y}.png'], tileSize: 256, attribution: 'Test streets' },
  },
  layers: [{ id: 'streets', type: 'raster', source: 'streets' }],
}

/** Serves a MapLibre style at `/style.json` and images at every other path. `paths`: what was requested. */
export async function serveStyle() {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    const isStyle = request.url === '/style.json'
    const type = isStyle ? 'application/json' : 'image/png'
    response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' })
    response.end(isStyle ? JSON.stringify(style) : image)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths, close }
}
