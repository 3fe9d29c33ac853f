import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { gridDisk, latLngToCell } from 'h3-js'
import { newId } from '#core/ids'
import { startServer } from '#http/server'
import { qualities, signalThresholds } from '#telemetry/quality'
import { openPage } from '../apps/control-plane/http/page.ts'

export type MapServer = { url: string; close: () => void }

type Json = Record<string, unknown>

const compress = promisify(gzip)
const none = { items: [], nextCursor: null }

/** Serves the built page and a generated fleet. Each response is created and compressed once. */
export async function serveMap(folder: string, size: { devices: number; cells: number }): Promise<MapServer> {
  const page = await openPage(folder, 'router')
  if (!page) throw new Error(`${folder} contains no page. Build it with npm start.`)
  const answers: Record<string, Buffer<ArrayBuffer>> = {
    '/signal-thresholds': await packed(signalThresholds.lte),
    '/fleet/gps': await packed(fleet(size.devices)),
    // One twelfth of the devices report in the five seconds between two polls.
    '/fleet/gps since': await packed(fleet(Math.round(size.devices / 12))),
    '/fleet/coverage': await packed({ window, items: cells(size.cells) }),
  }
  const nothing = await packed(none)
  const fetch = (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    const file = page(request)
    if (file) return file
    const body = answers[searchParams.has('since') ? `${pathname} since` : pathname] ?? nothing
    return new Response(body, { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } })
  }
  const server = await startServer(fetch, { host: '127.0.0.1', port: 0 })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const packed = async (answer: unknown) => Buffer.from(await compress(JSON.stringify(answer)))
const window = { from: new Date(0).toISOString(), to: new Date().toISOString(), limitedBy: null }

/** Returns a deterministic, even distribution over Europe, with multiples of the golden ratio and the plastic number. */
const place = (index: number) => ({
  lat: Math.round((38 + ((index * 0.7548776662466927) % 1) * 22) * 1e5) / 1e5,
  lon: Math.round((-8 + ((index * 0.6180339887498949) % 1) * 36) * 1e5) / 1e5,
})

const ids: string[] = []

function fleet(devices: number): Json {
  while (ids.length < devices) ids.push(newId())
  const numbers = Array.from({ length: devices }, (_, index) => index)
  const ts = new Date().toISOString()
  const rows: Record<string, (index: number) => unknown> = {
    deviceId: (index: number) => ids[index],
    organizationId: () => ids[0],
    name: (index: number) => `Truck ${index}`,
    status: () => 'online',
    'location.lat': (index: number) => place(index).lat,
    'location.lon': (index: number) => place(index).lon,
    'location.ts': () => ts,
    'location.speedMps': (index: number) => index % 25,
    'location.headingDeg': (index: number) => index % 360,
    'signal.ts': () => ts,
    'signal.rat': () => 'lte',
    'signal.plmn': (index: number) => `2620${1 + (index % 3)}`,
    'signal.rsrpDbm': (index: number) => -70 - (index % 55),
    'signal.quality': (index: number) => qualities[index % qualities.length],
    'signal.alignment': () => 'interpolated',
  }
  const columns = Object.entries(rows).map(([path, cell]) => [path, numbers.map(cell)])
  return { asOf: 'made-up', window, devices: Object.fromEntries(columns), gone: [], nextCursor: null }
}

/** Returns this number of adjacent cells of resolution 6 around the middle of Europe. */
function cells(wanted: number): Json[] {
  const rings = Math.ceil(Math.sqrt(wanted / 3))
  const lastAt = new Date().toISOString()
  return gridDisk(latLngToCell(49, 10, 6), rings)
    .slice(0, wanted)
    .map((h3, index) => ({
      h3,
      samples: 20 + (index % 400),
      devices: 1 + (index % 7),
      serviceRatio: index % 50 === 0 ? 0 : 1 - (index % 20) / 100,
      rsrpDbm: { p10: -110, p50: -70 - (index % 55), p90: -65 },
      sinrDb: { p10: -3, p50: (index % 30) - 5 },
      quality: qualities[index % qualities.length],
      confidence: index % 3 === 0 ? 'low' : 'high',
      lastAt,
    }))
}
