import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { newId } from '#core/ids'
import { isoTime } from '#core/iso-time'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { createCoverageShapes } from '#fleet-map/tiles/coverage-layer'
import { createDeviceIndex, type DeviceIndex } from '#fleet-map/tiles/device-index'
import { deviceFeatures } from '#fleet-map/tiles/device-layer'
import { encodeTile, tileTag } from '#fleet-map/tiles/encode'
import type { TileLayers } from '#fleet-map/tiles/tile-feature'
import { tileJson } from '#fleet-map/tiles/tile-json'
import type { Tile } from '#fleet-map/tiles/tile-math'
import { windowView } from '#fleet-map/window'
import { startServer } from '#http/server'
import { signalThresholds } from '#telemetry/coverage/quality'
import { openPage } from '../apps/control-plane/http/page.ts'
import { cellsFor, generatedFleet, type MapSize, moveSome } from './map-fleet.ts'

export type MapServer = { url: string; sentBytes: () => number; close: () => void }

const compress = promisify(gzip)
const none = { items: [], nextCursor: null }
const caller = { id: 'key:bench', name: 'Bench', platform: true, sessionId: null, organizations: [] }
const windowMs = 86_400_000
const moveEveryMs = 5_000
const tilePath = /^\/fleet\/tiles\/(\d+)\/(\d+)\/(\d+)\.mvt$/

/** Serves the built page and a generated fleet whose devices move. Tiles are made as the service makes them. */
export async function serveMap(folder: string, size: MapSize): Promise<MapServer> {
  const page = await openPage(folder, 'router')
  if (!page) throw new Error(`${folder} contains no page. Build it with npm start.`)
  const map = generatedFleet(size.devices)
  const index = createDeviceIndex([{ map, windowMs }], {})
  const tiles = createTiles(index, size)
  await tiles({ z: 0, x: 0, y: 0 }, ['devices', 'coverage'])
  let sentBytes = 0
  const sent = (body: Buffer<ArrayBuffer>, type: string, headers: Record<string, string> = {}) => {
    sentBytes += body.length
    return new Response(body, { headers: { 'content-type': type, 'content-encoding': 'gzip', ...headers } })
  }
  const fetch = async (request: Request) => {
    const file = page(request)
    if (file) return file
    const { pathname, searchParams } = new URL(request.url)
    const [, ...numbers] = tilePath.exec(pathname) ?? []
    if (numbers.length === 0) return sent(await packed(await answer(pathname, searchParams)), 'application/json')
    const [z = 0, x = 0, y = 0] = numbers.map(Number)
    const layers = await tiles({ z, x, y }, (searchParams.get('layers') ?? '').split(','))
    const etag = tileTag(layers)
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: { etag } })
    if (Object.values(layers).every((features) => features.length === 0)) return new Response(null, { status: 204 })
    const headers = { etag, 'cache-control': 'private, no-cache' }
    return sent(Buffer.from(await compress(encodeTile(layers))), 'application/vnd.mapbox-vector-tile', headers)
  }
  const answer = async (path: string, query: URLSearchParams): Promise<unknown> => {
    if (path === '/auth/me') return caller
    if (path === '/alert-counts') return { open: 0, acknowledged: 0, bySeverity: {} }
    if (path === '/signal-thresholds') return signalThresholds.lte
    if (path === '/fleet/tiles.json') {
      const window = windowView({ organizations: [], limitedBy: null }, Date.now())
      return tileJson('', ['devices', 'coverage'], { window, fleet: await index.overview(Date.now()) })
    }
    if (path === '/devices') return { items: found(map, query.get('q') ?? ''), nextCursor: null }
    if (path === '/fleet/gps') return gps(map, query.getAll('deviceId'))
    return none
  }
  const timer = setInterval(() => moveSome(map), moveEveryMs)
  const server = await startServer(fetch, { host: '127.0.0.1', port: 0 })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    sentBytes: () => sentBytes,
    close: () => {
      clearInterval(timer)
      index.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

const packed = async (answer: unknown) => Buffer.from(await compress(JSON.stringify(answer)))

/** Returns a function that reads layers of a tile. */
function createTiles(index: DeviceIndex, size: MapSize) {
  const shapes = createCoverageShapes()
  return async (tile: Tile, layers: readonly string[]): Promise<TileLayers> => ({
    ...(layers.includes('devices') && { devices: await deviceFeatures(index, tile, Date.now()) }),
    ...(layers.includes('coverage') && { coverage: await shapes.features(cellsFor(size.cells, tile.z), tile) }),
  })
}

function found(map: OrganizationMap, text: string) {
  const matching = [...map.devices()].filter(({ entry }) => entry.name.includes(text)).slice(0, 100)
  return matching.map(({ entry: { deviceId: id, ...entry } }) => ({ id, serial: newId(), model: 'R1', ...entry }))
}

function gps(map: OrganizationMap, deviceIds: readonly string[]) {
  const devices = deviceIds.flatMap((id) => map.device(id) ?? [])
  const column = (read: (device: (typeof devices)[number]) => unknown) => devices.map(read)
  return {
    asOf: 'made-up',
    window: { from: new Date(0).toISOString(), to: new Date().toISOString(), limitedBy: null },
    devices: {
      deviceId: column(({ entry }) => entry.deviceId),
      name: column(({ entry }) => entry.name),
      status: column(({ entry }) => entry.status),
      'location.lat': column(({ location }) => location?.lat),
      'location.lon': column(({ location }) => location?.lon),
      'location.ts': column(({ locatedAtMs }) => locatedAtMs && isoTime(locatedAtMs)),
      'signal.ts': column(({ measuredAtMs }) => measuredAtMs && isoTime(measuredAtMs)),
      'signal.quality': column(({ signal }) => signal?.quality),
    },
    nextCursor: null,
  }
}
