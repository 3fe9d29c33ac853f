import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { type Area, areaTest } from '#telemetry/geo/area'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const square = (west: number, south: number, size = 1) => ({
  type: 'Polygon',
  coordinates: [
    [
      [west, south],
      [west + size, south],
      [west + size, south + size],
      [west, south + size],
      [west, south],
    ],
  ],
})
const circle = { type: 'Circle', lat: 51.95, lon: 4.05, radiusM: 800 }

async function newPlace(json: Record<string, unknown> = { name: 'Depot', area: circle }, plan = 'pro') {
  const organization = await api.newOrganization({ plan })
  const path = `/orgs/${organization.id}/places`
  const created = await api.call('POST', path, { token: organization.key, json })
  return { ...organization, path, created, one: `${path}/${created.body.id}` }
}

describe('POST /orgs/:orgId/places', () => {
  test('201 creates a place with Location and ETag, with a polygon or a circle', async () => {
    const { created, path, key } = await newPlace({ name: ' Depot ', area: circle, tags: ['north', 'north'] })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Depot',
      area: circle,
      tags: ['north'],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`)
    expect(created.headers.get('etag')).toMatch(/^".+"$/)
    const polygon = await api.call('POST', path, { token: key, json: { name: 'Port', area: square(8, 50) } })
    expect(polygon).toMatchObject({ status: 201, body: { area: square(8, 50), tags: [] } })
  })

  test('201 answers a polygon across the antimeridian in its parts, and keeps it whole', async () => {
    const across = square(179, -18)
    across.coordinates[0]?.splice(1, 2, [-179, -18], [-179, -17])
    const { created, path, one, key } = await newPlace({ name: 'Lagoon', area: across })
    expect(created).toMatchObject({ status: 201, body: { area: { type: 'MultiPolygon' } } })
    const { area } = created.body
    const rings: [number, number][][] = area.coordinates.flat()
    const spans = rings.map((ring) => ring.map(([lon]) => lon)).map((lons) => [Math.min(...lons), Math.max(...lons)])
    expect(spans.sort()).toEqual([
      [-180, -179],
      [179, 180],
    ])
    const renamed = await api.call('PATCH', one, { token: key, json: { name: 'Reef' } })
    expect(renamed).toMatchObject({ status: 200, body: { name: 'Reef', area } })
    expect((await api.call('GET', one, { token: key })).body.area).toEqual(area)
    expect((await api.call('GET', path, { token: key })).body.items).toMatchObject([{ area }])
    const { rows } = await api.services.pool.query(
      `SELECT place_contains(place, -17.5, 179.5) AND place_contains(place, -17.5, -179.5) AS "isWhole", area
       FROM place WHERE id = $1`,
      [created.body.id],
    )
    expect(rows).toEqual([{ isWhole: true, area: across }])
    const returned = await api.call('PATCH', one, { token: key, json: { area } })
    expect(returned).toMatchObject({ status: 200, body: { area: { type: 'MultiPolygon' } } })
    const corners = (sent: typeof area) => new Set(sent.coordinates.flat(2).map(String))
    expect(corners(returned.body.area)).toEqual(corners(area))
  })

  test('201 for GeoJSON of other programs: altitudes, bbox, features, and a MultiPolygon of one polygon', async () => {
    const { key, path } = await newPlace()
    const [ring = []] = square(8, 50).coordinates
    const raised = { type: 'Polygon', bbox: [8, 50, 9, 51], coordinates: [ring.map((corner) => [...corner, 0])] }
    const feature = { type: 'Feature', properties: { name: 'Port' }, geometry: raised }
    const areas = [
      raised,
      { type: 'MultiPolygon', coordinates: [raised.coordinates] },
      feature,
      { type: 'FeatureCollection', features: [feature] },
      { type: 'GeometryCollection', geometries: [raised] },
      {
        type: 'FeatureCollection',
        features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] } }, feature],
      },
      { type: 'GeometryCollection', geometries: [{ type: 'LineString', coordinates: ring }, raised] },
    ]
    for (const area of areas) {
      const { status, body } = await api.call('POST', path, { token: key, json: { name: crypto.randomUUID(), area } })
      expect([status, body.area]).toEqual([201, square(8, 50)])
    }
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no area', { name: 'A' }, /\/area/],
    ['an unknown type', { name: 'A', area: { type: 'MultiPolygon', coordinates: [] } }, /\/area\/type/],
    [
      'two polygons',
      { name: 'A', area: { type: 'MultiPolygon', coordinates: [square(0, 0).coordinates, square(2, 2).coordinates] } },
      /Send one polygon, got 2/,
    ],
    ['a line', { name: 'A', area: { type: 'Feature', geometry: { type: 'LineString' } } }, /Send one polygon, got 0/],
    ['a point', { name: 'A', area: { type: 'Point', coordinates: [8, 50] } }, /Send one polygon, got 0/],
    ['other JSON', { name: 'A', area: { type: 'Feature', geometry: { type: 'Topology' } } }, /\/area\/geometry\/type/],
    ['a negative radius', { name: 'A', area: { ...circle, radiusM: -1 } }, /\/area\/radiusM/],
    ['a latitude of 91', { name: 'A', area: { ...circle, lat: 91 } }, /\/area\/lat/],
    [
      'a hole',
      { name: 'A', area: { type: 'Polygon', coordinates: [...square(0, 0).coordinates, ...square(0, 0).coordinates] } },
      /holes are not supported/,
    ],
    [
      'an open ring',
      { name: 'A', area: { type: 'Polygon', coordinates: [[...(square(0, 0).coordinates[0] ?? []), [5, 5]]] } },
      /last position of a ring must equal the first/,
    ],
    [
      'too many vertices',
      { name: 'A', area: { type: 'Polygon', coordinates: [Array.from({ length: 502 }, (_, n) => [n / 10, 0])] } },
      /\/area\/coordinates\/0/,
    ],
    ['an unknown field', { name: 'A', area: circle, colour: 'red' }, /colour/],
  ])('400 for %s', async (_, json, detail) => {
    const { key, path } = await newPlace()
    const answer = await api.call('POST', path, { token: key, json })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(detail) } })
  })

  test('409 for a taken name, and at 1,000 places', async () => {
    const { id, key, path } = await newPlace()
    const again = { token: key, json: { name: 'Depot', area: circle } }
    expect(await api.call('POST', path, again)).toMatchObject({ status: 409, body: { code: 'place_name_taken' } })
    await api.services.pool.query(
      `INSERT INTO place (id, organization_id, name, area, bounds)
       SELECT uuidv7(), $1, 'Place ' || n, '{}', '((1,1),(0,0))' FROM generate_series(2, 1000) n`,
      [id],
    )
    expect(await api.call('POST', path, { token: key, json: { name: 'One more', area: circle } })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 1_000, used: 1_000 },
    })
  })

  test('402 when the subscription is suspended', async () => {
    const { id, key, path, one } = await newPlace()
    await api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [id])
    expect((await api.call('POST', path, { token: key, json: { name: 'B', area: circle } })).status).toBe(402)
    expect((await api.call('PATCH', one, { token: key, json: { name: 'B' } })).status).toBe(402)
    expect((await api.call('DELETE', one, { token: key })).status).toBe(402)
    expect((await api.call('GET', one, { token: key })).status).toBe(200)
  })
})

describe('/orgs/:orgId/places/:id', () => {
  test('200 reads, changes and lists by tag; 304 and 412 by ETag; 204 deletes; each change is audited', async () => {
    const { id, key, path, one, created } = await newPlace({ name: 'Depot', area: circle, tags: ['north'] })
    const etag = String(created.headers.get('etag'))
    expect((await api.call('GET', one, { token: key, headers: { 'if-none-match': etag } })).status).toBe(304)
    const changed = await api.call('PATCH', one, { token: key, json: { area: square(8, 50), tags: [] } })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Depot', area: square(8, 50), tags: [] } })
    const late = { token: key, json: { name: 'Late' }, headers: { 'if-match': etag } }
    expect((await api.call('PATCH', one, late)).status).toBe(412)
    expect((await api.call('PATCH', one, { token: key, json: {} })).status).toBe(400)
    expect((await api.call('GET', `${path}?tag=north`, { token: key })).body.items).toEqual([])
    expect((await api.call('GET', path, { token: key })).body.items).toEqual([changed.body])
    expect((await api.call('DELETE', one, { token: key })).status).toBe(204)
    expect((await api.call('GET', one, { token: key })).status).toBe(404)
    const audit = await api.call('GET', `/orgs/${id}/audit`, { token: key })
    expect(audit.body.items.map(({ action }: { action: string }) => action)).toEqual([
      'place.deleted',
      'place.updated',
      'place.created',
    ])
  })

  test('404 for the place of another organization', async () => {
    const { created } = await newPlace()
    const stranger = await newPlace()
    const path = `${stranger.path}/${created.body.id}`
    expect((await api.call('GET', path, { token: stranger.key })).status).toBe(404)
    expect((await api.call('PATCH', path, { token: stranger.key, json: { name: 'B' } })).status).toBe(404)
    expect((await api.call('DELETE', path, { token: stranger.key })).status).toBe(404)
    for (const list of ['gps', 'dwells']) {
      const query = `/fleet/${list}?placeId=${created.body.id}`
      expect((await api.call('GET', query, { token: stranger.key })).status).toBe(404)
    }
  })
})

describe('lists', () => {
  /** A device inside the place and one outside, each with a fix and a dwell. */
  async function twoDevices(area: unknown) {
    const place = await newPlace({ name: 'Harbour', area })
    const { pool } = api.services
    const [inside, outside] = [await registerDevice(pool, place.id), await registerDevice(pool, place.id)]
    const tsMs = Date.now() - 600_000
    const at = (deviceId: string, lat: number, lon: number) => ({ tsMs, deviceId, organizationId: place.id, lat, lon })
    const [near, far] = [at(inside, 50.5, 8.5), at(outside, 50.5, 9.5)]
    const fix = { fix: '3d', usable: true, accuracyM: 5 }
    await storeRows(api.questdb, 'location', [
      { ...near, ...fix },
      { ...far, ...fix },
    ])
    const stay = { radiusM: 20, fixCount: 3, gap: false, departedAtMs: null }
    await storeRows(api.questdb, 'dwell', [
      { ...near, ...stay, id: newId() },
      { ...far, ...stay, id: newId() },
    ])
    return { ...place, inside, outside, placeId: place.created.body.id }
  }
  type Item = { deviceId: string; places?: unknown }
  const devicesOf = (items: Item[]) => items.map(({ deviceId }) => deviceId)

  test('dwells name the places that contain them, and can be filtered by place', async () => {
    const { key, inside, outside, placeId, path } = await twoDevices(square(8, 50))
    await api.call('POST', path, { token: key, json: { name: 'Berth', area: square(8.4, 50.4, 0.2) } })
    const all = await api.call('GET', '/fleet/dwells', { token: key })
    const placesOf = (deviceId: string) =>
      all.body.items.find((item: Item) => item.deviceId === deviceId).places?.map(({ name }: { name: string }) => name)
    expect(placesOf(inside)).toEqual(['Berth', 'Harbour'])
    expect(placesOf(outside)).toBeUndefined()
    const found = await api.call('GET', `/fleet/dwells?placeId=${placeId}&limit=1`, { token: key })
    expect(devicesOf(found.body.items)).toEqual([inside])
    expect(found.body.nextCursor).toBeNull()
  })

  test('the device list and the export return only devices whose last position is inside the place', async () => {
    const place = await newPlace({ name: 'Depot', area: square(8, 50) })
    const { pool } = api.services
    const at = async (lat: number, lon: number) => {
      const deviceId = await registerDevice(pool, place.id, { name: 'Truck' })
      await pool.query('UPDATE device SET last_lat = $2, last_lon = $3, last_fix_at = now() WHERE id = $1', [
        deviceId,
        lat,
        lon,
      ])
      return deviceId
    }
    const [first, second] = [await at(50.1, 8.1), await at(50.2, 8.2)]
    await at(49.9, 8.1)
    await registerDevice(pool, place.id, { name: 'Truck' })
    const query = `placeId=${place.created.body.id}`
    const list = async (more = '') => (await api.call('GET', `/devices?${query}${more}`, { token: place.key })).body
    const idsOf = (items: { id: string }[]) => items.map(({ id }) => id)
    expect(idsOf((await list()).items)).toEqual([second, first])
    expect(idsOf((await list('&q=truck&limit=1')).items)).toEqual([second])
    const exported = await api.call('GET', `/devices/export?format=csv&${query}`, { token: place.key })
    expect(String(exported.body).trim().split('\n')).toHaveLength(3)
    const withoutFleet = await api.newKey([place.id], ['device:read'])
    expect((await api.call('GET', `/devices?${query}`, { token: withoutFleet })).status).toBe(403)
    const stranger = await api.newOrganization()
    expect((await api.call('GET', `/devices?${query}`, { token: stranger.key })).status).toBe(404)
  })

  test('fleet GPS returns only devices and dwells inside the place, also after its area changed', async () => {
    const { key, inside, outside, placeId, one } = await twoDevices({
      type: 'Circle',
      lat: 50.5,
      lon: 8.5,
      radiusM: 900,
    })
    const read = async () => (await api.call('GET', `/fleet/gps?placeId=${placeId}`, { token: key })).body
    const found = await until('both devices are on the map', async () => {
      const all = (await api.call('GET', '/fleet/gps', { token: key })).body
      return all.devices.filter(({ location }: { location: unknown }) => location).length === 2 && (await read())
    })
    expect(devicesOf(found.devices)).toEqual([inside])
    expect(devicesOf(found.dwells)).toEqual([inside])
    await api.call('PATCH', one, { token: key, json: { area: square(9, 50) } })
    expect(devicesOf((await read()).devices)).toEqual([outside])
  })
})

test('the database and the service agree on what is inside a place', async () => {
  const { id, key, path } = await api.newOrganization().then(({ id, key }) => ({ id, key, path: `/orgs/${id}/places` }))
  const areas: Area[] = [
    { type: 'Circle', lat: 51, lon: 4, radiusM: 90_000 },
    { type: 'Circle', lat: -17, lon: 179.9, radiusM: 80_000 },
    {
      type: 'Polygon',
      coordinates: [
        [
          [179, -18],
          [-179, -18],
          [-179.5, -16],
          [-180, -17.5],
          [179, -16],
          [179, -18],
        ],
      ],
    },
    {
      type: 'Polygon',
      coordinates: [
        [
          [3, 50],
          [5, 50],
          [5, 52],
          [4, 50.5],
          [3, 52],
          [3, 50],
        ],
      ],
    },
  ]
  for (const [index, area] of areas.entries()) {
    expect((await api.call('POST', path, { token: key, json: { name: `P${index}`, area } })).status).toBe(201)
  }
  const around = Array.from({ length: 900 }, (_, n) => ({
    lat: (n % 2 === 0 ? 49.5 : -18.5) + ((n >> 1) % 21) * 0.1501,
    lon: n % 2 === 0 ? 2.5 + (n % 31) * 0.1003 : ((178.5 + (n % 31) * 0.1003 + 180) % 360) - 180,
  }))
  const onEdges = [[-18, 180], [-18, -180], [-17, 179], [-18, -179], [-17.5, 180], [-17.5, -180], [50, 4], [51, 5], [52, 3]] // biome-ignore format: one look
  const points = [...around, ...onEdges.map(([lat = 0, lon = 0]) => ({ lat, lon }))]
  const { rows } = await api.services.pool.query<{ name: string; n: number }>(
    `SELECT place.name, point.n::int - 1 AS n FROM place,
       unnest($2::float8[], $3::float8[]) WITH ORDINALITY AS point (lat, lon, n)
     WHERE place.organization_id = $1 AND place_contains(place, point.lat, point.lon)`,
    [id, points.map(({ lat }) => lat), points.map(({ lon }) => lon)],
  )
  const bySql = rows.map(({ name, n }) => `${name} ${n}`).sort()
  const tests = areas.map(areaTest)
  const byService = tests.flatMap(({ contains }, place) =>
    points.flatMap((point, n) => (contains(point) ? [`P${place} ${n}`] : [])),
  )
  expect(new Set(byService.map((text) => text.slice(0, 2))).size).toBe(4)
  expect(byService.filter((text) => Number(text.slice(3)) >= around.length).length).toBeGreaterThanOrEqual(
    onEdges.length,
  )
  expect(bySql).toEqual(byService.sort())
})
