import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startServer } from '#http/server'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { seedDevices } from '#test/seed-devices'
import { applied, refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'
import { decodeTile, type TileProperties } from '#test/tiles'
import { until } from '#test/until'
import { createApp } from '../../http/app.ts'
import { routes } from '../../routes.ts'

const minuteMs = 60_000

let api: TestControlPlane
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-plans-'))
  const plansFile = join(folder, 'plans.json')
  const plans = JSON.parse(await readFile('libs/fleet/organizations/plans.json', 'utf8'))
  await writeFile(plansFile, JSON.stringify({ ...plans, 'no-coverage': { ...plans.pro, coverage: false } }))
  api = await startControlPlane({ PLANS_FILE: plansFile })
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

type Organization = { id: string; key: string }

async function newDevice({ id, key }: Organization, fields: { tags?: string[]; name?: string } = {}): Promise<string> {
  const json = { organizationId: id, serial: newId(), name: 'Router', model: 'R1', tags: [], ...fields }
  const created = await api.call('POST', '/devices', { token: key, json })
  expect(created.status).toBe(201)
  return created.body.id
}

const row = ({ id }: Organization, deviceId: string, agoMs: number, fields: Record<string, unknown>): StoredRow => ({
  tsMs: Date.now() - agoMs,
  receivedAtMs: Date.now(),
  deviceId,
  organizationId: id,
  ...fields,
})

const fixAt = (lat: number, lon: number) => ({ lat, lon, fix: '3d', usable: true })
const store = (table: Parameters<typeof storeRows>[1], ...rows: StoredRow[]) => storeRows(api.questdb, table, rows)

type Position = [lat: number, lon: number]

async function storePositions(organization: Organization, ids: readonly string[], positions: readonly Position[]) {
  const rows = positions.map(([lat, lon], index) => row(organization, ids[index] ?? '', minuteMs, fixAt(lat, lon)))
  await store('location', ...rows)
}

/** Registers a device at each position. */
async function placeDevices(organization: Organization, positions: readonly Position[]) {
  const ids = await Promise.all(positions.map(() => newDevice(organization)))
  await storePositions(organization, ids, positions)
  return ids
}

/** The same for many devices, before the map is read: on a busy machine, the route refuses so many at once. */
async function seedPlacedDevices(organization: Organization, positions: readonly Position[]) {
  const ids = await seedDevices(api.services.pool, organization.id, positions.length)
  await storePositions(organization, ids, positions)
  return ids
}

const fetchTile = (key: string, path: string, headers: Record<string, string> = {}) =>
  api.fetch(`/fleet/tiles/${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })

/** The features of a tile by layer; none for an empty tile. */
async function readTile({ key }: Pick<Organization, 'key'>, path: string) {
  const answer = await fetchTile(key, path)
  expect([200, 204]).toContain(answer.status)
  return decodeTile(new Uint8Array(await answer.arrayBuffer()), path.split('.')[0] ?? '')
}

/** The features of the devices layer of all tiles of a zoom, each with its tile. */
async function devicesOfZoom(organization: Organization, zoom: number, query = '') {
  const found: (TileProperties & { tile: string })[] = []
  for (let x = 0; x < 2 ** zoom; x++) {
    for (let y = 0; y < 2 ** zoom; y++) {
      const { devices = [] } = await readTile(organization, `${zoom}/${x}/${y}.mvt?layers=devices${query}`)
      found.push(...devices.map(({ properties }) => ({ ...properties, tile: `${x}/${y}` })))
    }
  }
  return found
}

const countOf = (features: TileProperties[]) => features.reduce((sum, { count }) => sum + Number(count ?? 1), 0)

/** Waits until the live map has what was stored a moment ago. */
const untilPlaced = (organization: Organization, devices: number) =>
  until('the devices are on the map', async () => countOf(await devicesOfZoom(organization, 0)) === devices)

describe('GET /fleet/tiles/:z/:x/:y.mvt', () => {
  test('200: over all tiles of a zoom, the counts add up to the devices with a position, one feature per H3 cell', async () => {
    const organization = await api.newOrganization()
    const edges: Position[] = [
      ...[0, 45, 66.513_260_4, 85.06, 89.9, -85.06, -90].map((lat): Position => [lat, 90]),
      ...[-180, 180, -179.999, 179.999, 0, 22.5].map((lon): Position => [10, lon]),
    ]
    const crowd = Array.from(
      { length: 40 },
      (_, index): Position => [51 + ((index * 37) % 100) / 500, -9 + ((index * 61) % 100) / 300],
    )
    const positions = [...edges, ...crowd]
    await seedPlacedDevices(organization, positions)
    await newDevice(organization)
    await untilPlaced(organization, positions.length)
    for (const zoom of [0, 1, 2, 3, 4]) {
      const features = await devicesOfZoom(organization, zoom)
      expect(countOf(features)).toBe(positions.length)
      const cells = new Set(positions.map(([lat, lon]) => latLngToCell(lat, lon, resolutionForZoom(zoom))))
      expect(features).toHaveLength(cells.size)
    }
    for (const zoom of [7, 10, 13]) {
      const tiles = new Set(positions.map(([lat, lon]) => tileAt(lat, lon, zoom)))
      let count = 0
      // A cluster can lie in a tile beside those of its devices.
      const around = new Set([...tiles].flatMap((tile) => neighbours(tile, zoom)))
      for (const tile of around) {
        const { devices = [] } = await readTile(organization, `${zoom}/${tile}.mvt?layers=devices`)
        count += countOf(devices.map(({ properties }) => properties))
      }
      expect([zoom, count]).toEqual([zoom, positions.length])
    }
  })

  test('200: a single device has its own properties, without those that are unknown; several are a cluster', async () => {
    const organization = await api.newOrganization()
    const [alone, ...together] = await Promise.all([1, 2, 3].map((n) => newDevice(organization, { name: `Bus ${n}` })))
    const position = { ...fixAt(51.9, -8.47), speedMps: 3.5, headingDeg: 90 }
    await store('location', row(organization, alone ?? '', minuteMs, position))
    const pair = together.map((id, index) => row(organization, id, minuteMs, fixAt(40 + index / 1e4, 10)))
    await store('location', ...pair)
    const radio = (rsrpDbm: number) => ({ rat: 'lte', plmn: '27201', rsrpDbm })
    await store(
      'cellular',
      row(organization, alone ?? '', minuteMs, { ...radio(-90), modem: 'wwan1' }),
      row(organization, alone ?? '', 2 * minuteMs, { ...radio(-70), modem: 'wwan0' }),
      row(organization, together[0] ?? '', minuteMs, radio(-110)),
    )
    await api.services.pool.query("UPDATE device SET status = 'online' WHERE id = $1", [together[0]])
    await untilPlaced(organization, 3)
    const { devices = [] } = await until('the signal is on the map', async () => {
      const layers = await readTile(organization, '5/15/10.mvt')
      return layers.devices?.[0]?.properties.quality !== undefined && layers
    })
    expect(devices).toHaveLength(1)
    expect(devices[0]?.properties).toEqual({
      ...{ deviceId: alone, name: 'Bus 1', status: 'provisioning', quality: 'good', rsrpDbm: -90, modem: 'wwan1' },
      ...{ headingDeg: 90, speedMps: 3.5, ageS: expect.any(Number), motion: 'moving' },
    })
    expect(Number(devices[0]?.properties.ageS)).toBeGreaterThanOrEqual(60)
    expect(devices[0]?.geometry).toEqual({
      type: 'Point',
      coordinates: [expect.closeTo(-8.47, 1), expect.closeTo(51.9, 1)],
    })
    const cluster = (await readTile(organization, `5/${tileAt(40, 10, 5)}.mvt`)).devices ?? []
    expect(cluster).toHaveLength(1)
    expect(cluster[0]?.properties).toEqual({ count: 2, online: 1, offline: 0, worstQuality: 'poor', poorCount: 1 })
    const points = (await readTile(organization, `13/${tileAt(40, 10, 13)}.mvt`)).devices ?? []
    expect(points.map(({ properties }) => properties.deviceId).sort()).toEqual([...together].sort())
  })

  test('200: a device is standing in a dwell or below 1.5 m/s, and silent without data or when it is offline', async () => {
    const organization = await api.newOrganization()
    const [moving, slow, dwelling, old, offline] = await Promise.all([1, 2, 3, 4, 5].map(() => newDevice(organization)))
    const fixes: [deviceId: string | undefined, agoMs: number, speedMps: number][] = [
      ...([
        [moving, 0, 1.5],
        [slow, 0, 1.4],
        [dwelling, 0, 9],
      ] as [string, number, number][]),
      ...([
        [old, 16 * minuteMs, 9],
        [offline, 0, 9],
      ] as [string, number, number][]),
    ]
    const rows = fixes.map(([deviceId, agoMs, speedMps], index) =>
      row(organization, deviceId ?? '', agoMs, { ...fixAt(20 + index, 10), speedMps }),
    )
    await store('location', ...rows)
    const stay = { lat: 22, lon: 10, departedAtMs: null, radiusM: 20, fixCount: 9, gap: false, id: newId() }
    await store('dwell', row(organization, dwelling ?? '', 10 * minuteMs, stay))
    await api.services.pool.query("UPDATE device SET status = 'offline' WHERE id = $1", [offline])
    await untilPlaced(organization, 5)
    const expected = { moving: [moving], standing: [slow, dwelling].sort(), silent: [old, offline].sort() }
    await until('the dwell is on the map', async () => {
      const { devices = [] } = await readTile(organization, '0/0/0.mvt?layers=devices')
      const byMotion = Object.groupBy(devices, ({ properties }) => String(properties.motion))
      const ids = Object.entries(byMotion).map(([motion, found]) => [
        motion,
        (found ?? []).map(({ properties }) => properties.deviceId).sort(),
      ])
      return isDeepStrictEqual(Object.fromEntries(ids), expected)
    })
  })

  test('200: a device that moved, changed its status or was deleted is in its new tile only', async () => {
    const organization = await api.newOrganization()
    const [moved, deleted] = await placeDevices(organization, [
      [10, 10],
      [12, 10],
    ])
    await untilPlaced(organization, 2)
    await store('location', row(organization, moved ?? '', 0, fixAt(-20, 50)))
    await until(
      'the device moved',
      async () => (await readTile(organization, `8/${tileAt(-20, 50, 8)}.mvt`)).devices?.length === 1,
    )
    expect((await readTile(organization, `8/${tileAt(10, 10, 8)}.mvt`)).devices).toBeUndefined()
    await api.call('DELETE', `/devices/${deleted}`, { token: organization.key })
    expect((await readTile(organization, `8/${tileAt(12, 10, 8)}.mvt`)).devices).toBeUndefined()
    expect(countOf(await devicesOfZoom(organization, 1))).toBe(1)
    expect(countOf(await devicesOfZoom(organization, 0, '&status=online'))).toBe(0)
    await api.call('PATCH', `/devices/${moved}`, { token: organization.key, json: { status: 'online' } })
    expect(countOf(await devicesOfZoom(organization, 0, '&status=online'))).toBe(1)
  })

  test('200: in a range in the past, devices are where they were last in it, with their signal of then', async () => {
    const organization = await api.newOrganization()
    const [moved = '', newcomer = ''] = await Promise.all([newDevice(organization), newDevice(organization)])
    const hourMs = 60 * minuteMs
    await store(
      'location',
      row(organization, moved, 4 * hourMs, fixAt(10, 10)),
      row(organization, moved, 3 * hourMs, { ...fixAt(11, 10), speedMps: 20 }),
      row(organization, moved, minuteMs, fixAt(-20, 50)),
      row(organization, newcomer, minuteMs, fixAt(12, 10)),
    )
    await store(
      'cellular',
      row(organization, moved, 3 * hourMs, { rat: 'lte', plmn: '27201', rsrpDbm: -120, sinrDb: -5 }),
      row(organization, moved, minuteMs, { rat: 'lte', plmn: '27202', rsrpDbm: -70, sinrDb: 25 }),
    )
    await untilPlaced(organization, 2)
    const iso = (hoursAgo: number) => new Date(Date.now() - hoursAgo * hourMs).toISOString()
    const past = `&from=${iso(5)}&to=${iso(2.95)}`
    const then = { status: 'provisioning', quality: 'none', rsrpDbm: -120, motion: 'moving' }
    // The end of the range is chosen after the row was placed, so the age is a little more.
    expect(await devicesOfZoom(organization, 0, past)).toMatchObject([
      { deviceId: moved, ...then, ageS: expect.closeTo(180, -2) },
    ])
    const at11 = `8/${tileAt(11, 10, 8)}.mvt?layers=devices${past}`
    expect((await readTile(organization, at11)).devices).toHaveLength(1)
    expect(await devicesOfZoom(organization, 0, `${past}&plmn=27202`)).toEqual([])
    expect(await devicesOfZoom(organization, 0, `${past}&plmn=27201`)).toHaveLength(1)
    expect(await devicesOfZoom(organization, 0, `&from=${iso(9)}&to=${iso(8)}`)).toEqual([])
    const { body } = await api.call('GET', `/fleet/tiles.json?${past.slice(1)}`, { token: organization.key })
    expect(body.fleet).toMatchObject({ devices: 1, bounds: [10, 11, 10, 11], operators: [{ plmn: '27201' }] })
    expect(body.window).toMatchObject({ from: past.slice(6, 30), limitedBy: null })
    const long = `from=${iso(10_000)}&to=${iso(9_000)}`
    const { window, fleet } = (await api.call('GET', `/fleet/tiles.json?${long}`, { token: organization.key })).body
    expect([window.limitedBy, fleet.devices]).toEqual(['plan', 0])
    const historyDays = (Date.now() - Date.parse(window.from)) / (24 * hourMs)
    expect(historyDays).toBeGreaterThan(89.9)
    expect(historyDays).toBeLessThanOrEqual(90)
  })

  test('200 filters devices by tag, group, status, rat, plmn and age', async () => {
    const organization = await api.newOrganization()
    const [south, bus] = [await newDevice(organization, { tags: ['bus', 'south'] }), await newDevice(organization)]
    const old = await newDevice(organization)
    await store(
      'location',
      row(organization, south, minuteMs, fixAt(51.9, -8.47)),
      row(organization, bus, minuteMs, fixAt(53.3, -6.2)),
      row(organization, old, 120 * minuteMs, fixAt(10, 10)),
    )
    await store('cellular', row(organization, south, minuteMs, { rat: 'lte', plmn: '27201' }))
    const json = { name: 'South', smartTags: ['south'] }
    const groups = `/orgs/${organization.id}/groups`
    const { body: group } = await api.call('POST', groups, { token: organization.key, json })
    await untilPlaced(organization, 3)
    const count = async (query: string) => countOf(await devicesOfZoom(organization, 0, `&${query}`))
    await until('the signal is on the map', async () => (await count('rat=lte')) === 1)
    expect(await count('tag=bus')).toBe(1)
    expect(await count('tag=bus&tag=north')).toBe(0)
    expect(await count(`groupId=${group.id}`)).toBe(1)
    expect(await count('status=provisioning')).toBe(3)
    expect(await count('status=offline')).toBe(0)
    expect(await count('plmn=27201')).toBe(1)
    expect(await count('plmn=27202')).toBe(0)
    expect(await count('sinceMinutes=60')).toBe(2)
    await api.call('POST', `${groups}/${group.id}/members`, { token: organization.key, json: { deviceIds: [old] } })
    await until('the member is in the group', async () => (await count(`groupId=${group.id}`)) === 2)
  })

  test('200: coverage has the cells and figures of /fleet/coverage, in every tile that a cell overlaps', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const voter = { organizationId: organization.id, deviceId }
    const places: Position[] = [
      [51.9, -8.47],
      [51.93, -8.4],
      [0.0001, 0.0001],
      [-17, 179.9999],
    ]
    for (const [lat, lon] of places) await store('cellular', ...votesIn(voter, latLngToCell(lat, lon, 10), 6))
    await refreshCoverage(api.questdb)
    for (const zoom of [0, 4, 6, 9, 12, 14]) {
      const { body } = await api.call('GET', `/fleet/coverage?h3Resolution=${resolutionForZoom(zoom)}`, {
        token: organization.key,
      })
      const expected = new Map(body.items.map((cell: { h3: string }) => [cell.h3, cell]))
      const seen = new Map<string, string[]>()
      const tiles = new Set(places.flatMap(([lat, lon]) => neighbours(tileAt(lat, lon, zoom), zoom)))
      for (const tile of tiles) {
        const { coverage = [] } = await readTile(organization, `${zoom}/${tile}.mvt?layers=coverage`)
        for (const { properties } of coverage) {
          const cell = expected.get(properties.h3) as Record<string, { p50: number }>
          expect(properties).toEqual({
            ...{ h3: cell.h3, samples: cell.samples, devices: cell.devices, serviceRatio: cell.serviceRatio },
            ...{ rsrpP50Dbm: cell.rsrpDbm?.p50, sinrP50Db: cell.sinrDb?.p50 },
            ...{ quality: cell.quality, confidence: cell.confidence },
          })
          seen.set(String(properties.h3), [...(seen.get(String(properties.h3)) ?? []), tile])
        }
      }
      expect([...seen.keys()].sort()).toEqual([...expected.keys()].sort())
      if (zoom === 0) continue
      const tilesOf = (lat: number, lon: number) =>
        seen.get(cellToParent(latLngToCell(lat, lon, 10), resolutionForZoom(zoom)))
      // The first cell crosses the border of two tiles or more, the second one the antimeridian.
      expect(tilesOf(0.0001, 0.0001)?.length).toBeGreaterThan(1)
      const last = 2 ** zoom - 1
      const columns = tilesOf(-17, 179.9999)?.map((tile) => tile.split('/')[0])
      expect(new Set(columns)).toEqual(new Set(['0', String(last)]))
    }
  })

  test('200: dwells are points with their properties, gone when the device is deleted', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const fields = { lat: 10, lon: 10, radiusM: 20, fixCount: 3, gap: false, departedAtMs: null }
    const dwell = { ...row(organization, deviceId, 60 * minuteMs, fields), id: newId() }
    await store('dwell', dwell)
    for (const zoom of [0, 6, 9, 16]) {
      const { dwells = [] } = await readTile(organization, `${zoom}/${tileAt(10, 10, zoom)}.mvt`)
      expect(dwells.map(({ properties }) => properties)).toEqual([
        {
          ...{ id: dwell.id, deviceId, arrivedAt: new Date(dwell.tsMs).toISOString(), radiusM: 20, ongoing: true },
          durationS: expect.closeTo(3_600, -2),
        },
      ])
    }
    await api.call('DELETE', `/devices/${deviceId}`, { token: organization.key })
    expect((await fetchTile(organization.key, '0/0/0.mvt')).status).toBe(204)
  })

  test('200 in gzip or zstd, then 304 until the content changes', async () => {
    const organization = await api.newOrganization()
    const positions = Array.from({ length: 60 }, (_, index): Position => [index - 30, 2 * index])
    const [first] = await seedPlacedDevices(organization, positions)
    await untilPlaced(organization, positions.length)
    const plain = await fetchTile(organization.key, '0/0/0.mvt')
    expect(plain.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile')
    expect(plain.headers.get('cache-control')).toContain('private')
    expect(plain.headers.get('content-encoding')).toBeNull()
    for (const [accepted, coding] of [
      ['gzip', 'gzip'],
      ['gzip, br', 'gzip'],
      ['gzip, br, zstd', 'zstd'],
    ] as const) {
      const packed = await fetchTile(organization.key, '0/0/0.mvt', { 'accept-encoding': accepted })
      expect(packed.headers.get('content-encoding')).toBe(coding)
      expect(packed.headers.get('vary')).toBe('accept-encoding')
      expect(packed.headers.get('etag')).toBe(plain.headers.get('etag'))
    }
    const etag = plain.headers.get('etag') ?? ''
    const again = () => fetchTile(organization.key, '0/0/0.mvt', { 'if-none-match': etag })
    expect((await again()).status).toBe(304)
    await store('location', row(organization, first ?? '', 0, fixAt(50, 50)))
    await until('the tile changed', async () => (await again()).status === 200)
  })

  test('200 without coverage on a plan that lacks it, which X-Layers-Omitted names; 403 without fleet GPS', async () => {
    const plan = await api.newOrganization({ plan: 'no-coverage' })
    await placeDevices(plan, [[10, 10]])
    await untilPlaced(plan, 1)
    const answer = await fetchTile(plan.key, '0/0/0.mvt')
    expect([answer.status, answer.headers.get('x-layers-omitted')]).toEqual([200, 'coverage'])
    const alone = await fetchTile(plan.key, '0/0/0.mvt?layers=coverage')
    expect([alone.status, alone.headers.get('x-layers-omitted')]).toEqual([204, 'coverage'])
    const { body, headers } = await api.call('GET', '/fleet/tiles.json', { token: plan.key })
    expect(body.vector_layers.map(({ id }: { id: string }) => id)).toEqual(['devices', 'dwells'])
    expect(headers.get('x-layers-omitted')).toBe('coverage')
    const free = await api.newOrganization({ plan: 'free' })
    for (const path of ['/fleet/tiles/0/0/0.mvt', '/fleet/tiles.json']) {
      const refused = await api.call('GET', path, { token: free.key })
      expect(refused).toMatchObject({ status: 403, body: { code: 'plan_feature' } })
    }
  })

  test('200 without a layer that has more items than one response may have', { timeout: 180_000 }, async () => {
    // Storing and reading a quarter of a million dwells takes a minute beside many other tests.
    const organization = await api.newOrganization()
    const [deviceId] = await placeDevices(organization, [[10, 10]])
    await untilPlaced(organization, 1)
    await api.questdb.query(
      `INSERT INTO dwell (ts, device_id, org_id, received_at, id, departed_at, lat, lon, radius_m, fix_count, gap, withdrawn)
       SELECT dateadd('T', -x::int, dateadd('h', -1, now())), '${deviceId}', '${organization.id}', now(), 'dwell ' || x,
              now(), 50.0, 50.0, 5.0, 2, false, false
       FROM long_sequence(250001)`,
    )
    await applied(api.questdb, 'dwell')
    const answer = await fetchTile(organization.key, '0/0/0.mvt?layers=devices,dwells')
    expect([answer.status, answer.headers.get('x-layers-omitted')]).toEqual([200, 'dwells'])
    const layers = decodeTile(new Uint8Array(await answer.arrayBuffer()), '0/0/0')
    expect(Object.keys(layers)).toEqual(['devices'])
  })

  test('200 merges the organizations of the caller in one cluster, and never shows another organization', async () => {
    const [one, two, other] = [await api.newOrganization(), await api.newOrganization(), await api.newOrganization()]
    await placeDevices(one, [[10, 10]])
    await placeDevices(two, [[10.0001, 10]])
    await placeDevices(other, [[10.0002, 10]])
    const key = await api.newKey([one.id, two.id], 'viewer')
    const read = async () => (await readTile({ key }, '0/0/0.mvt')).devices ?? []
    const merged = await until('both devices are on the map', async () => {
      const devices = await read()
      return countOf(devices.map(({ properties }) => properties)) === 2 && devices
    })
    expect(merged.map(({ properties }) => properties.count)).toEqual([2])
    for (const own of [one, two, other]) await untilPlaced(own, 1)
  })

  test.each([
    '17/0/0.mvt',
    '1/2/0.mvt',
    '1/0/2.mvt',
    '1/-1/0.mvt',
    '1/0/0',
    '1/0/0.png',
    '1/0/0.5.mvt',
    '1e0/0/0.mvt',
    'a/0/0.mvt',
    '1/0/.mvt',
  ])('404 for tile %s', async (path) => {
    const organization = await api.newOrganization()
    const answer = await api.call('GET', `/fleet/tiles/${path}`, { token: organization.key })
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('404 for another organization or group, 403 without fleet:read, 401 without credentials, 405 for POST', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const key = await api.newKey([mine.id], ['device:read'])
    for (const path of ['/fleet/tiles/0/0/0.mvt', '/fleet/tiles.json']) {
      const status = async (query: string, token?: string) =>
        (await api.call('GET', `${path}${query}`, { ...(token && { token }) })).status
      expect(await status(`?orgId=${other.id}`, mine.key)).toBe(404)
      expect(await status(`?groupId=${newId()}`, mine.key)).toBe(404)
      expect(await status('', key)).toBe(403)
      expect(await status('')).toBe(401)
      expect((await api.call('POST', path, { token: mine.key })).status).toBe(405)
    }
  })

  test.each([
    'bbox=0,0,1,1',
    'sinceMinutes=0',
    'layers=cats',
    'status=asleep',
    'rat=6g',
    'plmn=1',
    'zoom=3',
    'key=flk_x',
  ])('400 for %s', async (query) => {
    const organization = await api.newOrganization()
    for (const path of ['/fleet/tiles/0/0/0.mvt', '/fleet/tiles.json']) {
      expect(await api.call('GET', `${path}?${query}`, { token: organization.key })).toMatchObject({ status: 400 })
    }
  })
})

test('GET /fleet/tiles.json returns TileJSON 3.0.0 with the query in its address, and every property of the tiles', async () => {
  const organization = await api.newOrganization()
  await placeDevices(organization, [
    [10, 10],
    [10, 10],
    [-10, 10],
  ])
  await untilPlaced(organization, 3)
  const query = `orgId=${organization.id}&tag=a%20b&tag=c&sinceMinutes=60`
  const { status, body } = await api.call('GET', `/fleet/tiles.json?${query}`, { token: organization.key })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    tilejson: '3.0.0',
    tiles: [`http://routerfleet.test/fleet/tiles/{z}/{x}/{y}.mvt?${query}`],
    minzoom: 0,
    maxzoom: 16,
    bounds: [-180, expect.closeTo(-85.0511, 3), 180, expect.closeTo(85.0511, 3)],
  })
  const layers: { id: string; fields: object }[] = body.vector_layers
  expect(layers.map(({ id }) => id)).toEqual(['devices', 'coverage', 'dwells'])
  const { devices = [] } = await readTile(organization, '0/0/0.mvt')
  for (const { properties } of devices) {
    expect(Object.keys(layers[0]?.fields ?? {})).toEqual(expect.arrayContaining(Object.keys(properties)))
  }
})

test('GET /fleet/tiles.json describes the devices of the query: their number, box and operators', async () => {
  const organization = await api.newOrganization()
  const describe = async (query = '') => {
    const { status, body } = await api.call('GET', `/fleet/tiles.json?${query}`, { token: organization.key })
    expect(status).toBe(200)
    return body.fleet
  }
  expect(await describe()).toEqual({ devices: 0, bounds: null, operators: [] })
  const [south, north] = await placeDevices(organization, [
    [-10.5, 170],
    [10, -20.25],
  ])
  const radio = { rat: 'lte', plmn: '27201', operatorName: 'Vodafone IE' }
  await store('cellular', row(organization, south ?? '', minuteMs, radio))
  const found = await until('the devices and the operator are known', async () => {
    const fleet = await describe()
    return fleet.devices === 2 && fleet.operators.length === 1 && fleet
  })
  expect(found).toEqual({
    devices: 2,
    // The shorter way is across the antimeridian.
    bounds: [170, -10.5, -20.25, 10],
    operators: [{ plmn: '27201', name: 'Vodafone IE' }],
  })
  expect(await describe('rat=lte')).toMatchObject({ devices: 1, bounds: [170, -10.5, 170, -10.5] })
  expect(await describe('layers=coverage')).toBeNull()
  await store('location', row(organization, north ?? '', 0, fixAt(30, 0)))
  await until('the box follows the devices', async () =>
    isDeepStrictEqual((await describe()).bounds, [0, -10.5, 170, 30]),
  )
  await api.call('DELETE', `/devices/${south}`, { token: organization.key })
  expect(await describe()).toMatchObject({ devices: 1, bounds: [0, 30, 0, 30] })
})

test('GDAL reads the tiles by their TileJSON, with the key in a header', async ({ skip }) => {
  const run = promisify(execFile)
  const version = await run('ogrinfo', ['--version']).catch(() => undefined)
  if (!version) return skip('ogrinfo (Debian package gdal-bin) is not installed')
  const organization = await api.newOrganization()
  await placeDevices(organization, [
    [10, 10],
    [10, 10],
    [-10, 10],
  ])
  await untilPlaced(organization, 3)
  const server = await startServer(createApp(routes, api.services).fetch, { host: '127.0.0.1', port: 0 })
  try {
    const { port } = server.address() as AddressInfo
    const base = `http://127.0.0.1:${port}/fleet`
    const options = ['-oo', 'TILE_EXTENSION=mvt', '-oo', `METADATA_FILE=${base}/tiles.json`]
    const { stdout } = await run('ogrinfo', ['-ro', '-al', ...options, `MVT:${base}/tiles/0`, 'devices'], {
      env: { ...process.env, GDAL_HTTP_HEADERS: `Authorization: Bearer ${organization.key}` },
    })
    expect(stdout).toMatch(/Feature Count: 2\n/)
    expect(stdout).toMatch(/count \(Real\) = 2\n/)
    expect(stdout).toMatch(/name \(String\) = Router\n/)
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
})

/** `x/y` of the tile at a position, by the formula of the OpenStreetMap wiki. */
function tileAt(lat: number, lon: number, zoom: number): string {
  const perSide = 2 ** zoom
  const radians = (Math.max(-89.9, Math.min(89.9, lat)) * Math.PI) / 180
  const y = ((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * perSide
  const clamped = (value: number) => Math.max(0, Math.min(perSide - 1, Math.floor(value)))
  return `${clamped(((lon + 180) / 360) * perSide)}/${clamped(y)}`
}

/** A tile and the eight around it, across the antimeridian as well. */
function neighbours(tile: string, zoom: number): string[] {
  const perSide = 2 ** zoom
  const [x = 0, y = 0] = tile.split('/').map(Number)
  const around = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => [(x + dx + perSide) % perSide, y + dy] as const))
  return [...new Set(around.filter(([, row]) => row >= 0 && row < perSide).map((each) => each.join('/')))]
}
