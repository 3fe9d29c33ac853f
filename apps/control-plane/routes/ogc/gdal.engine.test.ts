import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cellToCenterChild, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startServer } from '#http/server'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { registerDevice } from '#test/registered-device'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'
import { createApp } from '../../http/app.ts'
import { routes } from '../../routes.ts'

const run = promisify(execFile)
const minuteMs = 60_000

let api: TestControlPlane
let folder: string
beforeAll(async () => {
  api = await startControlPlane()
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-gdal-'))
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

/** Serves the API under the address of its links. */
async function serve() {
  let handle: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 503 })
  const server = await startServer((request: Request) => handle(request), { host: '127.0.0.1', port: 0 })
  const publicBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  handle = createApp(routes, { ...api.services, publicBaseUrl }).fetch
  return { url: `${publicBaseUrl}/ogc`, close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

const cellsOf = (lat: number, rings: number) =>
  gridDisk(latLngToCell(lat, 8, 9), rings).map((h3) => cellToCenterChild(h3, 10))

/** An organization with devices that never reported, devices at a position, cells, and a way between two dwells. */
async function newFleet(lat: number, silentCount: number, deviceCount: number, rings: number) {
  const organization = await api.newOrganization()
  const { pool } = api.services
  const of = (deviceId: string) => ({ deviceId, organizationId: organization.id })
  const deviceIds: string[] = []
  const silentIds: string[] = []
  for (let count = 0; count < silentCount; count++) silentIds.push(await registerDevice(pool, organization.id))
  for (let count = 0; count < deviceCount; count++) deviceIds.push(await registerDevice(pool, organization.id))
  const [first = ''] = deviceIds
  const atMs = Date.now() - 10 * minuteMs
  const fix = (deviceId: string, tsMs: number, north: number): StoredRow => ({
    ...{ ...of(deviceId), tsMs, receivedAtMs: Date.now(), lat: lat + north, lon: 8, fix: '3d', usable: true },
  })
  const dwell = (fromMs: number, toMs: number | null): StoredRow => ({
    ...{ ...of(first), id: newId(), tsMs: fromMs, departedAtMs: toMs, lastInsideAtMs: toMs ?? fromMs },
    ...{ lat, lon: 8, radiusM: 5, fixCount: 2, gap: false, withdrawn: false },
  })
  await storeRows(api.questdb, 'location', [
    ...deviceIds.map((deviceId, index) => fix(deviceId, atMs, index / 1_000)),
    ...[60, 59, 58].map((ago) => fix(first, Date.now() - ago * minuteMs, ago / 1_000)),
  ])
  await storeRows(api.questdb, 'dwell', [
    dwell(Date.now() - 90 * minuteMs, Date.now() - 60 * minuteMs),
    dwell(Date.now() - 58 * minuteMs, null),
  ])
  const dead = latLngToCell(lat + 1, 8, 9)
  await storeRows(api.questdb, 'cellular', [
    ...cellsOf(lat, rings).flatMap((h3) => votesIn(of(first), h3, 1)),
    ...votesIn(of(first), cellToCenterChild(dead, 10), 6, { rat: 'none' }),
  ])
  await refreshCoverage(api.questdb)
  return { ...organization, deviceIds: [...silentIds, ...deviceIds], cellCount: cellsOf(lat, rings).length + 1 }
}

type Layers = Record<string, { features: number; description: string }>

/** The layers of a source, as GDAL describes them. */
async function layersOf(source: string, options: readonly string[] = [], key = ''): Promise<Layers> {
  const { stdout } = await run('ogrinfo', ['-ro', '-al', '-so', ...options, source], {
    env: { ...process.env, GDAL_HTTP_HEADERS: `Authorization: Bearer ${key}` },
  })
  const layers = stdout.split('Layer name: ').slice(1)
  return Object.fromEntries(
    layers.map((description) => {
      const [, count] = /Feature Count: (\d+)/.exec(description) ?? []
      return [description.split('\n')[0], { features: Number(count), description }]
    }),
  )
}

const counted = async (...source: Parameters<typeof layersOf>) =>
  Object.fromEntries(Object.entries(await layersOf(...source)).map(([name, { features }]) => [name, features]))

// A busy machine takes a minute for the processes.
const limitMs = 240_000

test('GDAL copies all features of one organization into a file, in pages', { timeout: limitMs }, async ({ skip }) => {
  const version = await run('ogr2ogr', ['--version']).catch(() => undefined)
  if (!version) return skip('ogr2ogr (Debian package gdal-bin) is not installed')
  const own = await newFleet(50, 12, 23, 3)
  const foreign = await newFleet(52, 0, 4, 1)
  const served = await serve()
  try {
    await until('all positions are known', async () => {
      const { body } = await api.call('GET', '/fleet/gps?include=devices', { token: own.key })
      return body.devices.filter(({ location }: { location: unknown }) => location !== null).length === 23
    })
    const file = join(folder, 'own.gpkg')
    const { stderr } = await run('ogr2ogr', ['-f', 'GPKG', file, `OAPIF:${served.url}`], {
      env: { ...process.env, GDAL_HTTP_HEADERS: `Authorization: Bearer ${own.key}` },
    })
    // Without an error, and without a warning about a field that does not fit.
    expect(stderr).toBe('')
    const layers = await layersOf(file)
    expect(layers).toMatchObject({
      devices: { features: 35, description: expect.stringMatching(/Geometry: Point\n/) },
      dwells: { features: 2, description: expect.stringMatching(/Geometry: Point\n/) },
      trips: { features: 1, description: expect.stringMatching(/Geometry: Line String\n/) },
      coverage: { features: own.cellCount, description: expect.stringMatching(/Geometry: Polygon\n/) },
      'dead-zones': { features: 1, description: expect.stringMatching(/Geometry: Multi Polygon\n/) },
    })
    // The types are those of the schema: no device has the first two values.
    for (const type of ['location_accuracyM: Real', 'signal_completedFrom: DateTime', 'location_ts: DateTime'])
      expect(layers.devices?.description).toContain(type)
    const csv = ['-f', 'CSV', '/vsistdout/', file, 'devices', '-select', 'deviceId', '-lco', 'GEOMETRY=AS_XY']
    const [, ...rows] = (await run('ogr2ogr', csv)).stdout.trim().replaceAll('"', '').split('\n')
    expect(rows.map((row) => row.split(',')[2]).sort()).toEqual([...own.deviceIds].sort())
    expect(rows.filter((row) => !row.startsWith(',')).length).toBe(23)

    // A key of both organizations reads both, or one by its id; the query of the address reaches all pages.
    const both = await api.newKey([own.id, foreign.id], ['fleet:read'])
    expect(await counted(`OAPIF:${served.url}`, ['-oo', 'PAGE_SIZE=10000'], both)).toMatchObject({ devices: 39 })
    const since = `orgId=${own.id}&datetime=${new Date(Date.now() - 40 * minuteMs).toISOString()}/..`
    const recent = await counted(`OAPIF:${served.url}?${since}`, ['-oo', 'PAGE_SIZE=5'], both)
    expect(recent).toMatchObject({ devices: 23, dwells: 1, trips: 0 })
    const near = await counted(`OAPIF:${served.url}`, ['-spat', '7.9', '49.9995', '8.1', '50.0035'], own.key)
    expect(near).toMatchObject({ devices: 4, dwells: 2, trips: 1, 'dead-zones': 0 })
  } finally {
    await served.close()
  }
})
