import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cellToBoundary, cellToCenterChild, cellToLatLng, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { registerDevice } from '#test/registered-device'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

let api: TestControlPlane
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plans-'))
  const plans = JSON.parse(await readFile('libs/fleet/organizations/plans.json', 'utf8'))
  const mapOnly = { ...plans.enterprise, coverage: false }
  await writeFile(join(folder, 'plans.json'), JSON.stringify({ ...plans, 'map-only': mapOnly }))
  api = await startControlPlane({ PLANS_FILE: join(folder, 'plans.json') })
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const iso = (ms: number) => new Date(ms).toISOString()
const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs
const at = (agoMinutes: number) => nowMs - agoMinutes * minuteMs
const base = 'http://routerfleet.test'

type Link = { rel: string; href: string; type: string }
type Found = {
  id: string
  geometry: { type: string; coordinates: unknown } | null
  properties: Record<string, unknown>
}
type Page = { features: Found[]; numberMatched?: number; numberReturned: number; links: Link[] }

const linkOf = ({ links }: { links: Link[] }, rel: string) => links.find((link) => link.rel === rel)?.href
const get = (key: string, path: string) => api.call('GET', path, { token: key })

async function page(key: string, collection: string, query = ''): Promise<Page> {
  const { status, body, headers } = await get(key, `/ogc/collections/${collection}/items?${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  expect(headers.get('content-type')).toBe('application/geo+json')
  expect(body.numberReturned).toBe(body.features.length)
  const types = await propertyTypes(key, collection)
  for (const { properties } of body.features as Found[]) {
    expect(Object.keys(properties).sort()).toEqual(Object.keys(types).sort())
    for (const [name, value] of Object.entries(properties)) {
      if (value === null) continue
      const { type, format } = types[name] ?? {}
      expect(type === 'integer' ? Number.isInteger(value) : typeof value === type, name).toBe(true)
      if (format === 'date-time') expect(iso(Date.parse(String(value))), name).toBe(value)
    }
  }
  return body
}

/** The properties that the schema of a collection describes. */
async function propertyTypes(
  key: string,
  collection: string,
): Promise<Record<string, { type: string; format?: string }>> {
  const { body } = await get(key, `/ogc/collections/${collection}`)
  const schema = await get(key, linkOf(body, 'describedBy')?.slice(base.length) ?? '')
  expect([schema.status, schema.headers.get('content-type')]).toEqual([200, 'application/schema+json'])
  return schema.body.properties.properties.properties
}

/** Follows the links until a page has no next one. */
async function allPages(key: string, collection: string, query: string): Promise<Page[]> {
  const pages = [await page(key, collection, query)]
  for (let next = linkOf(pages[0] as Page, 'next'); next; next = linkOf(pages.at(-1) as Page, 'next')) {
    expect(next.startsWith(`${base}/ogc/collections/${collection}/items?`)).toBe(true)
    const { status, body } = await get(key, next.slice(base.length))
    expect(status).toBe(200)
    pages.push(body)
  }
  return pages
}

const idsOf = (pages: Page[]) => pages.flatMap(({ features }) => features.map(({ id }) => id))

async function fleet(plan?: string) {
  const organization = await api.newOrganization(plan ? { plan } : {})
  const { id: organizationId, key } = organization
  const newDevice = () => registerDevice(api.services.pool, organizationId, { name: 'Van' })
  const store = (table: Parameters<typeof storeRows>[1], rows: Omit<StoredRow, 'organizationId'>[]) =>
    storeRows(
      api.questdb,
      table,
      rows.map((row) => ({ ...row, organizationId }) as StoredRow),
    )
  const place = (deviceId: string, lat: number, lon: number, tsMs = at(1)) =>
    store('location', [{ deviceId, tsMs, receivedAtMs: Date.now(), lat, lon, fix: '3d', usable: true }])
  const dwell = (deviceId: string, fromMs: number, toMs: number | null, lat: number, lon: number) =>
    store('dwell', [
      {
        ...{ id: newId(), deviceId, tsMs: fromMs, departedAtMs: toMs, lastInsideAtMs: toMs ?? fromMs },
        ...{ lat, lon, radiusM: 5, fixCount: 2, gap: false, withdrawn: false },
      },
    ])
  return { ...organization, organizationId, key, newDevice, store, place, dwell }
}

describe('the documents above the items', () => {
  test('200 the links lead from the landing page to the items, with the query', async () => {
    const { key, id } = await fleet()
    // Links have the parameters as they were sent.
    const query = `datetime=${iso(at(60)).replace(':', '%3A')}/..&orgId=${id}`
    const landing = await get(key, `/ogc?${query}`)
    expect(landing.status).toBe(200)
    expect(landing.body.links.map(({ rel }: Link) => rel)).toEqual([
      'self',
      'service-desc',
      'service-doc',
      'conformance',
      'data',
    ])
    const conformance = await get(key, linkOf(landing.body, 'conformance')?.slice(base.length) ?? '')
    expect(conformance.body.conformsTo).toEqual([
      'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core',
      'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson',
    ])
    expect(linkOf(landing.body, 'service-desc')).toBe(`${base}/openapi.json`)
    const { body } = await get(key, linkOf(landing.body, 'data')?.slice(base.length) ?? '')
    expect(body.collections.map((each: { id: string }) => each.id)).toEqual([
      'devices',
      'dwells',
      'trips',
      'coverage',
      'dead-zones',
    ])
    for (const collection of body.collections) {
      expect(collection).toMatchObject({
        itemType: 'feature',
        crs: ['http://www.opengis.net/def/crs/OGC/1.3/CRS84'],
        extent: { temporal: { interval: [[expect.any(String), null]] } },
      })
      const self = await get(key, linkOf(collection, 'self')?.slice(base.length) ?? '')
      expect(self.body).toEqual({ ...collection, extent: expect.any(Object) })
      const items = linkOf(collection, 'items') ?? ''
      expect(items).toBe(`${base}/ogc/collections/${collection.id}/items?${query}`)
      expect((await get(key, items.slice(base.length))).status).toBe(200)
    }
  })

  test('200 leaves out what the plan does not include, and 403 for it', async () => {
    const { key } = await fleet('map-only')
    const { body } = await get(key, '/ogc/collections')
    expect(body.collections.map((each: { id: string }) => each.id)).toEqual(['devices', 'dwells', 'trips'])
    for (const path of ['coverage', 'coverage/items', 'dead-zones/items', 'coverage/items/881eb1a6d5fffff'])
      expect(await get(key, `/ogc/collections/${path}`)).toMatchObject({ status: 403, body: { code: 'plan_feature' } })
    const free = await fleet('free')
    for (const path of ['', '/collections', '/collections/devices/items'])
      expect(await get(free.key, `/ogc${path}`)).toMatchObject({ status: 403, body: { code: 'plan_feature' } })
  })
})

describe('devices', () => {
  test('200 pages lead to every device once, and each device is an item of its own', async () => {
    const { key, id, newDevice, place, store } = await fleet()
    const ids = [await newDevice(), await newDevice(), await newDevice(), await newDevice(), await newDevice()]
    const [first = '', second = ''] = ids
    await place(first, 51.9, -8.4)
    await store('cellular', [{ deviceId: first, tsMs: at(1), receivedAtMs: Date.now(), rat: 'lte', rsrpDbm: -90 }])
    await place(second, 10, 20, nowMs - 48 * hourMs)
    const pages = await allPages(key, 'devices', `limit=2&orgId=${id}`)
    expect(pages.map(({ numberReturned, numberMatched }) => [numberReturned, numberMatched])).toEqual([
      [2, 5],
      [2, 5],
      [1, 5],
    ])
    expect(idsOf(pages)).toEqual(ids)
    expect(linkOf(pages[0] as Page, 'next')).toContain(`orgId=${id}`)
    const placed = await until('the position is known', async () => {
      const { features } = await page(key, 'devices')
      return features[0]?.geometry && features[0].properties.signal_rsrpDbm === -90 ? features : undefined
    })
    expect(placed[0]).toMatchObject({
      ...{ type: 'Feature', id: first, geometry: { type: 'Point', coordinates: [-8.4, 51.9] } },
      properties: { deviceId: first, organizationId: id, name: 'Van', location_lat: 51.9, signal_rsrpDbm: -90 },
    })
    // Its position is older than a day.
    expect(placed[1]).toMatchObject({ id: second, geometry: null, properties: { location_lat: null, dwell_lat: null } })
    const single = await get(key, `/ogc/collections/devices/items/${first}?orgId=${id}`)
    expect(single.headers.get('content-type')).toBe('application/geo+json')
    expect(single.body).toMatchObject({ type: 'Feature', id: first, geometry: placed[0]?.geometry })
    expect(linkOf(single.body, 'self')).toBe(`${base}/ogc/collections/devices/items/${first}?orgId=${id}`)
  })

  test('200 pages are in the order of the ids, which is the same in every process', async () => {
    const [own, seller] = [await fleet(), await fleet()]
    const created = async ({ id: organizationId, key: token }: { id: string; key: string }): Promise<string> => {
      const json = { organizationId, serial: newId(), name: 'Van', model: 'R1' }
      return (await api.call('POST', '/devices', { token, json })).body.id
    }
    const older = await created(seller)
    const ids = [await created(own), await created(own), await created(own)]
    const [first] = await allPages(own.key, 'devices', 'limit=2')
    const both = await api.newKey([seller.id, own.id], ['device:transfer', 'device:read'])
    const sold = await api.call('POST', `/devices/${older}/transfer`, { token: both, json: { toOrgId: own.id } })
    expect(sold.status).toBe(200)
    const newer = await created(own)
    expect(idsOf(await allPages(own.key, 'devices', 'limit=2'))).toEqual([older, ...ids, newer])
    const next = linkOf(first as Page, 'next')?.slice(base.length) ?? ''
    expect(idsOf([(await get(own.key, next)).body])).toEqual([ids[2], newer])
  })

  test('200 large pages', async () => {
    const { key, newDevice } = await fleet()
    const ids: string[] = []
    for (let count = 0; count < 130; count++) ids.push(await newDevice())
    const pages = await allPages(key, 'devices', 'limit=110')
    expect(pages.map(({ numberReturned, numberMatched }) => [numberReturned, numberMatched])).toEqual([
      [110, 130],
      [20, 130],
    ])
    expect(idsOf(pages)).toEqual(ids)
  })

  test('200 a device with a position and a signal comes first, and once', async () => {
    const { key, newDevice, place, store } = await fleet()
    const ids = [await newDevice(), await newDevice(), await newDevice(), await newDevice()]
    const [, located = '', measured = '', also = ''] = ids
    for (const deviceId of [located, measured, also]) await place(deviceId, 10, 20)
    for (const deviceId of [measured, also])
      await store('cellular', [{ deviceId, tsMs: at(1), receivedAtMs: Date.now(), rat: 'lte', rsrpDbm: -90 }])
    const order = [measured, ...ids.filter((id) => id !== measured)]
    await until('the first one has both', async () => idsOf([await page(key, 'devices')])[0] === measured)
    for (const limit of [1, 2, 3, 4, 5]) expect(idsOf(await allPages(key, 'devices', `limit=${limit}`))).toEqual(order)
    expect(idsOf(await allPages(key, 'devices', 'bbox=0,0,30,30&limit=2'))).toEqual([measured, located, also])
  })

  test('200 bbox and datetime select by the last position, over pages and across the antimeridian', async () => {
    const { key, newDevice, place } = await fleet()
    const [west = '', east = '', old = ''] = [await newDevice(), await newDevice(), await newDevice()]
    await newDevice()
    await place(west, 10, 179)
    await place(east, 10, -179)
    await place(old, 10, 179.5, nowMs - 48 * hourMs)
    await until('the positions are known', async () => {
      const { features } = await page(key, 'devices')
      return features.filter(({ geometry }) => geometry).length === 2
    })
    const across = await allPages(key, 'devices', 'bbox=178,0,-178,20&limit=1')
    expect(idsOf(across)).toEqual([west, east])
    expect(across[0]?.numberMatched).toBe(2)
    expect(idsOf([await page(key, 'devices', 'bbox=178,0,-100,180,20,100')])).toEqual([west])
    expect(idsOf([await page(key, 'devices', 'bbox=1.5e1,0,2e1,20')])).toEqual([])
    const since = (text: string) => page(key, 'devices', `datetime=${encodeURIComponent(text)}`)
    const located = await until('the older position is known', async () => {
      const { features } = await since(`${iso(nowMs - 72 * hourMs)}/..`)
      return features.length === 3 && features
    })
    expect(located.map(({ geometry }) => geometry?.coordinates)).toContainEqual([179.5, 10])
    expect(idsOf([await since(`${iso(nowMs - 72 * hourMs)}/${iso(nowMs - 24 * hourMs)}`)])).toEqual([old])
    expect(idsOf([await since(`../${iso(nowMs - 24 * hourMs)}`)])).toEqual([old])
    expect(idsOf([await since(iso(nowMs - 48 * hourMs))])).toEqual([old])
    expect(idsOf([await since(iso(nowMs - 47 * hourMs))])).toEqual([])
  })
})

test('200 dwells are points in pages, newest first, and each can be read by its id', async () => {
  const { key, newDevice, dwell } = await fleet()
  const deviceId = await newDevice()
  await dwell(deviceId, at(400), at(300), 50, 8)
  await dwell(deviceId, at(200), at(100), 51, 8)
  await dwell(deviceId, at(90), null, 52, 8)
  await dwell(deviceId, at(4_000), at(3_900), 53, 8)
  const pages = await allPages(key, 'dwells', 'limit=1')
  const ids = [at(90), at(200), at(400)].map((ms) => `${deviceId}.${ms}`)
  expect(idsOf(pages)).toEqual(ids)
  expect(pages[1]?.features[0]).toMatchObject({
    geometry: { type: 'Point', coordinates: [8, 51] },
    properties: { deviceId, arrivedAt: iso(at(200)), departedAt: iso(at(100)), near_country: 'DE', placeNames: null },
  })
  expect(pages[0]?.features[0]?.properties).not.toHaveProperty('id')
  expect((await page(key, 'dwells')).numberMatched).toBe(3)
  expect(idsOf([await page(key, 'dwells', 'bbox=7,50.5,9,51.5')])).toEqual([ids[1]])
  const during = (text: string) => page(key, 'dwells', `datetime=${encodeURIComponent(text)}`)
  expect(idsOf([await during(iso(at(150)))])).toEqual([ids[1]])
  expect(idsOf([await during(`${iso(at(5_000))}/${iso(at(3_950))}`)])).toEqual([`${deviceId}.${at(4_000)}`])
  expect(idsOf([await during(`../${iso(at(350))}`)])).toEqual([ids[2], `${deviceId}.${at(4_000)}`])
  const single = await get(key, `/ogc/collections/dwells/items/${deviceId}.${at(4_000)}`)
  expect(single).toMatchObject({ status: 200, body: { id: `${deviceId}.${at(4_000)}` } })
  for (const id of [`${deviceId}.${at(3_999)}`, `${newId()}.${at(200)}`, deviceId, 'x'])
    expect((await get(key, `/ogc/collections/dwells/items/${id}`)).status).toBe(404)
})

test('200 trips are lines through the fixes, which bbox touches', async () => {
  const { key, newDevice, dwell, store } = await fleet()
  const deviceId = await newDevice()
  const drive = (fromMs: number, lats: number[], lon: number) =>
    store(
      'location',
      lats.map((lat, index) => ({
        ...{ deviceId, tsMs: fromMs + index * minuteMs, lat, lon: lon + index / 100, fix: '3d', usable: true },
      })),
    )
  await dwell(deviceId, at(400), at(300), 50, 8)
  await drive(at(300), [50, 50.2, 50.1], 8)
  await dwell(deviceId, at(298), at(200), 50.1, 8.02)
  await drive(at(200), [50.1, 50.1, 50.1], 8.02)
  const pages = await allPages(key, 'trips', 'limit=1')
  const ids = [at(200), at(300)].map((ms) => `${deviceId}.${ms}`)
  expect(idsOf(pages)).toEqual(ids)
  expect(pages[1]?.features[0]).toMatchObject({
    geometry: {
      type: 'LineString',
      coordinates: [
        [8, 50],
        [8.01, 50.2],
        [8.02, 50.1],
      ],
    },
    properties: { deviceId, departedAt: iso(at(300)), arrivedAt: iso(at(298)), from_lat: 50, to_lat: 50.1 },
  })
  // Between the ends of the first trip, north of both.
  expect(idsOf([await page(key, 'trips', 'bbox=8.005,50.15,8.015,50.25')])).toEqual([ids[1]])
  // The newest trip is none of these, so the first page of the read is empty.
  expect(idsOf(await allPages(key, 'trips', 'bbox=7.9,49.9,8.005,50.25&limit=1'))).toEqual([ids[1]])
  expect(idsOf([await page(key, 'trips', 'bbox=9,49,10,51')])).toEqual([])
  const departed = `${iso(at(310))}/${iso(at(290))}`
  expect(idsOf([await page(key, 'trips', `datetime=${departed}`)])).toEqual([ids[1]])
  expect(idsOf([await page(key, 'trips', `datetime=${iso(at(-600))}/..`)])).toEqual([])
  for (const [index, id] of ids.entries())
    expect((await get(key, `/ogc/collections/trips/items/${id}`)).body).toMatchObject({
      ...{ id, geometry: pages[index]?.features[0]?.geometry },
    })
  expect((await get(key, `/ogc/collections/trips/items/${deviceId}.${at(250)}`)).status).toBe(404)
})

test('200 what crosses the antimeridian is in parts, and boxes at either side find it', async () => {
  const { key, organizationId, newDevice, dwell, store } = await fleet()
  const ship = await newDevice()
  await dwell(ship, at(400), at(300), -17, 179.98)
  const fixes = [179.98, 179.995, -179.99, -179.98].map((lon, index) => ({ lat: -17 - index / 100, lon }))
  await store(
    'location',
    fixes.map((fix, index) => ({ deviceId: ship, tsMs: at(300 - index), ...fix, fix: '3d', usable: true })),
  )
  await dwell(ship, at(297), null, -17.03, -179.98)
  const dead = latLngToCell(-17.05, 180, 9)
  const voter = { organizationId, deviceId: ship }
  const dark = gridDisk(dead, 1).flatMap((h3) => votesIn(voter, cellToCenterChild(h3, 10), 5, { rat: 'none' }))
  await storeRows(api.questdb, 'cellular', dark)
  await refreshCoverage(api.questdb)

  const crossing = expect.closeTo(-17.0133, 3)
  const [trip] = (await page(key, 'trips')).features
  expect(trip?.geometry).toEqual({
    type: 'MultiLineString',
    coordinates: [
      [...fixes.slice(0, 2).map(({ lat, lon }) => [lon, lat]), [180, crossing]],
      [[-180, crossing], ...fixes.slice(2).map(({ lat, lon }) => [lon, lat])],
    ],
  })
  const [zone] = (await page(key, 'dead-zones')).features
  const rings = ((zone?.geometry?.coordinates ?? []) as [number, number][][][]).flat()
  expect(rings.length).toBeGreaterThan(7)
  for (const ring of rings) {
    const longitudes = ring.map(([lon]) => lon)
    expect(Math.max(...longitudes) - Math.min(...longitudes)).toBeLessThan(1)
  }
  const found = async (collection: string, box: string) => idsOf([await page(key, collection, `bbox=${box}`)])
  for (const box of ['179.99,-18,180,-16', '-180,-18,-179.995,-16', '179.999,-18,-179.999,-16', '180,-18,-180,-16'])
    expect([box, await found('trips', box)]).toEqual([box, [trip?.id]])
  expect(await found('dead-zones', '179.9,-18,-179.9,-16')).toEqual([zone?.id])
  expect(await found('coverage', '179.9,-18,-179.9,-16')).toHaveLength(7)
  expect(await found('dwells', '179.97,-18,-179.97,-16')).toHaveLength(2)
  for (const collection of ['trips', 'dead-zones', 'coverage', 'dwells'])
    expect(await found(collection, '-179.9,-18,179.9,-16')).toEqual([])

  const [listed] = (await get(key, '/fleet/dead-zones')).body.items
  expect([listed.bbox[0], listed.bbox[2]]).toEqual([expect.closeTo(180, 1), expect.closeTo(-180, 1)])
  const operators = await get(key, '/fleet/operators?bbox=179.9,-18,-179.9,-16')
  expect(operators.body.items).toMatchObject([{ plmn: '27201', samples: 35, serviceRatio: 0 }])
  const path = { type: 'LineString', coordinates: [[179.9, -17.05, 3], [-179.9, -17.05, 3]] } // biome-ignore format: one look
  const { body } = await api.call('POST', '/fleet/forecast', { token: key, json: { path } })
  expect(body.lengthM).toBeCloseTo(21_261, -2)
  expect(body.summary.deadZones).toHaveLength(1)
  expect(body.segments.every(({ lon }: { lon: number }) => Math.abs(lon) <= 180 && Math.abs(lon) > 179)).toBe(true)
})

describe('coverage and dead zones', () => {
  const dead = latLngToCell(52.1, -8.1, 9)
  const neighbour = gridDisk(dead, 1).find((h3) => h3 !== dead) ?? ''
  const served = latLngToCell(52.6, -8.1, 9)
  const inside = (h3: string) => cellToCenterChild(h3, 10)
  const none = { rat: 'none' }

  async function measured() {
    const one = await fleet()
    const voter = { organizationId: one.organizationId, deviceId: await one.newDevice() }
    await storeRows(api.questdb, 'cellular', [
      ...votesIn(voter, inside(dead), 6, none),
      ...votesIn(voter, inside(neighbour), 5, none),
      ...votesIn(voter, inside(served), 9),
      ...votesIn(voter, inside(latLngToCell(53.1, -8.1, 9)), 7, none, nowMs - 72 * hourMs),
    ])
    await refreshCoverage(api.questdb)
    return one
  }

  test('200 cells are the hexagons of the fleet map in pages, and each can be read by its index', async () => {
    const { key } = await measured()
    const pages = await allPages(key, 'coverage', 'limit=2')
    const cells = [dead, neighbour, served].map(inside).sort()
    expect(idsOf(pages)).toEqual(cells)
    expect(pages[0]?.numberMatched).toBe(3)
    const { body: gps } = await get(key, '/fleet/gps?include=coverage&format=geojson')
    for (const { id, geometry, properties } of pages.flatMap(({ features }) => features)) {
      const cell = gps.features.find((each: Found) => each.properties.h3 === id)
      expect(geometry).toEqual(cell.geometry)
      expect(properties).toMatchObject({ h3: id, samples: cell.properties.samples, quality: cell.properties.quality })
    }
    const [lat, lon] = cellToLatLng(inside(served))
    const box = [lon - 0.001, lat - 0.001, lon + 0.001, lat + 0.001].join(',')
    const [found] = (await page(key, 'coverage', `bbox=${box}`)).features
    expect(found).toMatchObject({ id: inside(served), properties: { samples: 9, rsrpDbm_p50: -90 } })
    const single = await get(key, `/ogc/collections/coverage/items/${inside(served)}`)
    expect(single.body).toMatchObject({ id: inside(served), geometry: { type: 'Polygon' } })
    expect((await get(key, `/ogc/collections/coverage/items/${served}`)).body).toMatchObject({ id: served })
    for (const id of [inside(latLngToCell(0, 0, 9)), latLngToCell(52.6, -8.1, 3), 'x'])
      expect((await get(key, `/ogc/collections/coverage/items/${id}`)).status).toBe(404)
    const then = encodeURIComponent(`${iso(nowMs - 96 * hourMs)}/${iso(nowMs - 48 * hourMs)}`)
    const before = await page(key, 'coverage', `datetime=${then}`)
    expect(before.features).toMatchObject([{ properties: { samples: 7 } }])
    const [{ id } = { id: '' }] = before.features
    expect((await get(key, `/ogc/collections/coverage/items/${id}?datetime=${then}`)).status).toBe(200)
    expect((await get(key, `/ogc/collections/coverage/items/${id}`)).status).toBe(404)
    const sofar = encodeURIComponent(`${iso(nowMs - 96 * hourMs)}/..`)
    expect((await page(key, 'coverage', `datetime=${sofar}`)).numberMatched).toBe(4)
  })

  test('200 dead zones are outlines in pages, and each can be read by its id', async () => {
    const { key } = await measured()
    const [zone, ...others] = (await page(key, 'dead-zones')).features
    expect(others).toEqual([])
    const [lowest] = [dead, neighbour].sort()
    expect(zone).toMatchObject({
      id: lowest,
      geometry: { type: 'MultiPolygon' },
      properties: { zoneId: lowest, cells: [dead, neighbour].sort().join(), noServiceS: 11 * 60, devices: 1 },
    })
    const [{ near }] = (await get(key, '/fleet/dead-zones')).body.items
    expect(zone?.properties).toMatchObject({ near_distanceKm: near.distanceKm, near_bearing: near.bearing })
    const [polygon, ...more] = (zone?.geometry?.coordinates ?? []) as [number, number][][][]
    expect([polygon?.length, polygon?.[0]?.length, more.length]).toEqual([1, 11, 0])
    expect(polygon?.[0]).toContainEqual(cellToBoundary(dead, true)[0])
    const long = `datetime=${encodeURIComponent(`${iso(nowMs - 96 * hourMs)}/..`)}`
    expect(idsOf(await allPages(key, 'dead-zones', `${long}&limit=1`))).toHaveLength(2)
    expect((await get(key, `/ogc/collections/dead-zones/items/${lowest}`)).body).toMatchObject({ id: lowest })
    expect((await get(key, `/ogc/collections/dead-zones/items/${served}`)).status).toBe(404)
  })
})

test.each([
  'bbox=1,2,3',
  'bbox=1,2,3,4,5',
  'bbox=1,2,3,4,5,6,7',
  'bbox=1,2,3,x',
  'bbox=1,50,2,40',
  'bbox=-190,0,0,1',
  'bbox=',
  'datetime=yesterday',
  'datetime=2026-05-04',
  'datetime=',
  'datetime=..',
  'datetime=../..',
  'datetime=/',
  'datetime=2026-05-04T00:00:00Z/2026-05-03T00:00:00Z',
  'datetime=2026-05-04T00:00:00Z/2026-05-05T00:00:00Z/..',
  'datetime=2026-05-04T00:00:00',
  'limit=0',
  'limit=many',
  'orgId=none',
  'cursor=x',
  'sortby=name',
])('400 for %s', async (query) => {
  const { key } = await fleet()
  for (const collection of ['devices', 'coverage']) {
    const { status, body } = await get(key, `/ogc/collections/${collection}/items?${query}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: expect.stringMatching(/^invalid_/), errors: [{ pointer: query.split('=')[0] }] })
  }
})

test('200 for a limit beyond the greatest, and for times in lower case', async () => {
  const { key } = await fleet()
  expect((await page(key, 'devices', 'limit=1000000')).features).toEqual([])
  expect((await page(key, 'dwells', 'datetime=2026-05-04t00:00:00z/')).features).toEqual([])
  // QGIS sends this for an open end.
  for (const collection of ['devices', 'dwells', 'trips', 'coverage', 'dead-zones'])
    for (const times of [
      '0000-01-01T00:00:00Z/9999-12-31T00:00:00Z',
      '9998-12-31T00:00:00Z/..',
      '1970-01-01T00:00:00Z',
    ])
      expect((await page(key, collection, `datetime=${times}`)).features).toEqual([])
})

test('400 for a cursor of another collection or other filters, and unknown parameters of every document', async () => {
  const { key, newDevice } = await fleet()
  await newDevice()
  await newDevice()
  const next = new URL(linkOf(await page(key, 'devices', 'limit=1'), 'next') ?? '')
  const cursor = next.searchParams.get('cursor')
  for (const path of [`devices/items?bbox=0,0,1,1&cursor=${cursor}`, `dwells/items?cursor=${cursor}`])
    expect(await get(key, `/ogc/collections/${path}`)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  for (const path of [
    '',
    '/conformance',
    '/collections',
    '/collections/devices',
    `/collections/devices/items/${newId()}`,
  ])
    expect((await get(key, `/ogc${path}?f=json`)).status).toBe(400)
})

const paths = [
  '',
  '/conformance',
  '/collections',
  '/collections/devices',
  '/collections/trips/schema',
  '/collections/trips/items',
]

test.each(paths)('401, 403 and 404 for /ogc%s', async (path) => {
  const [own, foreign] = [await fleet(), await fleet()]
  expect((await api.call('GET', `/ogc${path}`)).status).toBe(401)
  const weak = await api.newKey([own.id], ['device:read'])
  for (const query of ['', `?orgId=${own.id}`])
    expect(await get(weak, `/ogc${path}${query}`)).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  expect((await get(own.key, `/ogc${path}?orgId=${own.id}`)).status).toBe(200)
  expect((await get(own.key, `/ogc${path}?orgId=${foreign.id}`)).status).toBe(404)
})

test('404 for a collection that does not exist', async () => {
  const { key } = await fleet()
  for (const path of ['routers', 'routers/items', 'routers/items/1'])
    expect(await get(key, `/ogc/collections/${path}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
})

test('another organization sees nothing, and a key of both sees both or the one that it names', async () => {
  const [own, foreign] = [await fleet(), await fleet()]
  const [mine, theirs] = [await own.newDevice(), await foreign.newDevice()]
  await foreign.dwell(theirs, at(200), at(100), 50, 8)
  await own.dwell(mine, at(200), at(100), 50, 8)
  const both = await api.newKey([own.id, foreign.id], ['fleet:read'])
  for (const [collection, ofMine, ofTheirs] of [
    ['devices', mine, theirs] as const,
    ['dwells', `${mine}.${at(200)}`, `${theirs}.${at(200)}`] as const,
  ]) {
    expect(idsOf([await page(own.key, collection)])).toEqual([ofMine])
    expect(idsOf([await page(both, collection)]).sort()).toEqual([ofMine, ofTheirs].sort())
    expect(idsOf([await page(both, collection, `orgId=${own.id}`)])).toEqual([ofMine])
    const path = `/ogc/collections/${collection}/items/${ofTheirs}`
    expect((await get(foreign.key, path)).status).toBe(200)
    expect(await get(own.key, path)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get(both, `${path}?orgId=${own.id}`)).status).toBe(404)
  }
})
