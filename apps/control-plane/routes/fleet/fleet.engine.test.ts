import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

// biome-ignore lint/suspicious/noExplicitAny: answers whose shape is what the tests assert.
type Json = any
type Organization = { id: string; key: string }

async function newDevice({ id, key }: Organization, fields: { tags?: string[]; name?: string } = {}): Promise<string> {
  const json = { organizationId: id, serial: newId(), name: 'Router', model: 'R1', tags: [], ...fields }
  const created = await api.call('POST', '/devices', { token: key, json })
  expect(created.status).toBe(201)
  return created.body.id
}

const row = (
  organization: Organization,
  deviceId: string,
  agoMs: number,
  fields: Record<string, unknown>,
): StoredRow => ({
  tsMs: Date.now() - agoMs,
  receivedAtMs: Date.now(),
  deviceId,
  organizationId: organization.id,
  ...fields,
})

const fixAt = (lat: number, lon: number) => ({ lat, lon, fix: '3d', usable: true, accuracyM: 5, speedMps: 3 })
const store = (table: Parameters<typeof storeRows>[1], ...rows: StoredRow[]) => storeRows(api.questdb, table, rows)

const gps = (organization: Organization, query = '', headers?: Record<string, string>) =>
  api.call('GET', `/fleet/gps?${query}`, { token: organization.key, ...(headers && { headers }) })

const idsOf = (answer: { body: { devices: { deviceId: string }[] } }) =>
  answer.body.devices.map(({ deviceId }) => deviceId)

/** Reads again until what was stored a moment ago is in the live picture. */
async function eventually(read: () => ReturnType<typeof gps>, isThere: (body: Json) => boolean) {
  const deadlineMs = Date.now() + 10_000
  for (;;) {
    const answer = await read()
    if (isThere(answer.body)) return answer
    if (Date.now() > deadlineMs) throw new Error(`Not there: ${JSON.stringify(answer.body).slice(0, 500)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

describe('GET /fleet/gps', () => {
  test('200 returns the last usable fix, the aligned signal with its quality, and null for missing data', async () => {
    const organization = await api.newOrganization()
    const [moving, silent] = [await newDevice(organization, { name: 'Bus 1' }), await newDevice(organization)]
    await store(
      'location',
      row(organization, moving, 2 * minuteMs, fixAt(51.9, -8.47)),
      row(organization, moving, minuteMs, { lat: 0, lon: 0, usable: false }),
    )
    const radio = { rat: 'lte', plmn: '27201', operatorName: 'Tel', rsrpDbm: -108, rsrqDb: -11, sinrDb: 6 }
    const aligned = { alignedLat: 51.901, alignedLon: -8.471, alignment: 'interpolated', alignErrorM: 12 }
    await store('cellular', row(organization, moving, minuteMs, { ...radio, ...aligned }))
    const { status, body } = await gps(organization, `orgId=${organization.id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      asOf: expect.any(String),
      window: { limitedBy: null },
      coverage: [],
      dwells: [],
      gone: [],
      nextCursor: null,
      thresholds: { rsrpDbm: [-115, -105, -95, -85] },
    })
    const [first, second] = body.devices
    expect(first).toEqual({
      deviceId: moving,
      organizationId: organization.id,
      name: 'Bus 1',
      status: 'provisioning',
      location: {
        ...{ lat: 51.9, lon: -8.47, fix: '3d', ts: expect.any(String), ageMs: expect.any(Number) },
        ...{ accuracyM: 5, speedMps: 3, headingDeg: null },
      },
      signal: {
        ...{ ...radio, ts: expect.any(String), ageMs: expect.any(Number), nrRsrpDbm: null },
        ...{ quality: 'poor', qualityBasis: 'rsrpDbm', lat: 51.901, lon: -8.471 },
        ...{ alignment: 'interpolated', alignErrorM: 12, modem: null, completedFrom: null },
      },
      dwell: null,
    })
    expect(second).toMatchObject({ deviceId: silent, location: null, signal: null, dwell: null })
  })

  test('200 with columnar returns arrays of equal length by path, only for the requested fields', async () => {
    const organization = await api.newOrganization()
    const [a, b] = [await newDevice(organization), await newDevice(organization)]
    await store('location', row(organization, b, minuteMs, fixAt(1.5, 2.5)))
    const { body } = await gps(organization, 'format=columnar&fields=name,location&include=devices')
    expect(body.devices).toEqual({
      deviceId: [a, b],
      name: ['Router', 'Router'],
      'location.lat': [null, 1.5],
      'location.lon': [null, 2.5],
      'location.fix': [null, '3d'],
      'location.ts': [null, expect.any(String)],
      'location.ageMs': [null, expect.any(Number)],
      'location.accuracyM': [null, 5],
      'location.speedMps': [null, 3],
      'location.headingDeg': [null, null],
    })
    expect(body.coverage).toMatchObject({ h3: [], 'rsrpDbm.p50': [] })
  })

  test('200 with geojson returns a FeatureCollection', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    await store('location', row(organization, deviceId, minuteMs, fixAt(1.5, 2.5)))
    const answer = await gps(organization, 'format=geojson')
    expect(answer.body).toMatchObject({
      type: 'FeatureCollection',
      features: [
        {
          type: 'Feature',
          geometry: { type: 'Point', coordinates: [2.5, 1.5] },
          properties: { deviceId, feature: 'device' },
        },
      ],
    })
    expect(answer.headers.get('content-type')).toBe('application/geo+json')
  })

  test('200 with geojson splits a trail at the antimeridian', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const lons = [179, -179, 179]
    await store(
      'location',
      ...lons.map((lon, index) => row(organization, deviceId, (3 - index) * minuteMs, fixAt(-17, lon))),
    )
    const { body } = await gps(organization, 'format=geojson&include=trails&sinceMinutes=10')
    const [, trail] = body.features
    expect(trail).toMatchObject({
      geometry: {
        type: 'MultiLineString',
        coordinates: [
          [
            [179, -17],
            [180, -17],
          ],
          [
            [-180, -17],
            [-179, -17],
            [-180, -17],
          ],
          [
            [180, -17],
            [179, -17],
          ],
        ],
      },
      properties: { feature: 'trail', deviceId },
    })
    expect(trail.properties.ts.map((part: string[]) => part.length)).toEqual([2, 3, 2])
  })

  test('200 filters by bbox, tag, group, rat and plmn', async () => {
    const organization = await api.newOrganization()
    const cork = await newDevice(organization, { tags: ['bus', 'south'] })
    const dublin = await newDevice(organization, { tags: ['bus'] })
    const pacific = await newDevice(organization)
    await store(
      'location',
      row(organization, cork, minuteMs, fixAt(51.9, -8.47)),
      row(organization, dublin, minuteMs, fixAt(53.3, -6.2)),
      row(organization, pacific, minuteMs, fixAt(-17, 179.5)),
    )
    await store(
      'cellular',
      row(organization, cork, minuteMs, { rat: 'lte', plmn: '27201' }),
      row(organization, dublin, minuteMs, { rat: 'nr-sa', plmn: '27202' }),
    )
    const group = await api.call('POST', `/orgs/${organization.id}/groups`, {
      token: organization.key,
      json: { name: 'South', smartTags: ['south'] },
    })
    await api.call('POST', `/orgs/${organization.id}/groups/${group.body.id}/members`, {
      token: organization.key,
      json: { deviceIds: [pacific] },
    })
    const seen = async (query: string) => idsOf(await gps(organization, query))
    expect(await seen('bbox=-9,51,-8,52')).toEqual([cork])
    expect(await seen('bbox=179,-20,-179,0')).toEqual([pacific])
    expect(await seen('tag=bus')).toEqual([cork, dublin])
    expect(await seen('tag=bus&tag=south')).toEqual([cork])
    expect(await seen(`groupId=${group.body.id}`)).toEqual([cork, pacific])
    expect(await seen('rat=nr-sa')).toEqual([dublin])
    expect(await seen('plmn=27201')).toEqual([cork])
  })

  test('200 with since returns only changes and removed devices', async () => {
    const organization = await api.newOrganization()
    const buyer = await api.newOrganization()
    const [still, mover, sold, deleted] = [
      await newDevice(organization),
      await newDevice(organization),
      await newDevice(organization),
      await newDevice(organization),
    ]
    await store(
      'location',
      ...[still, mover, sold, deleted].map((id) => row(organization, id, 2 * minuteMs, fixAt(10, 10))),
    )
    const first = await eventually(
      () => gps(organization),
      (body: Json) => idsOf({ body }).length === 4,
    )
    const nothing = await gps(organization, `since=${first.body.asOf}`)
    expect(nothing.body).toMatchObject({ devices: [], gone: [], coverage: [], dwells: [] })

    await store('location', row(organization, mover, minuteMs, fixAt(20, 20)))
    const moved = await eventually(
      () => gps(organization, `since=${first.body.asOf}`),
      (body: Json) => idsOf({ body }).length > 0,
    )
    expect(moved.body).toMatchObject({ devices: [{ deviceId: mover, location: { lat: 20 } }], gone: [] })

    const both = await api.newKey([organization.id, buyer.id], ['device:transfer', 'device:read'])
    expect(
      await api.call('POST', `/devices/${sold}/transfer`, { token: both, json: { toOrgId: buyer.id } }),
    ).toMatchObject({ status: 200 })
    expect(await api.call('DELETE', `/devices/${deleted}`, { token: organization.key })).toMatchObject({ status: 204 })
    await api.call('PATCH', `/devices/${still}`, { token: organization.key, json: { name: 'Renamed' } })
    const later = await gps(organization, `since=${moved.body.asOf}`)
    expect(later.body.devices).toMatchObject([{ deviceId: still, name: 'Renamed' }])
    expect([...later.body.gone].sort()).toEqual([sold, deleted].sort())
    expect(idsOf(await gps(buyer))).toEqual([sold])
    expect((await gps(buyer)).body.devices[0].location).toBeNull()
  })

  test('200 with since and a filter lists devices that left the filter, not those that were never in it', async () => {
    const organization = await api.newOrganization()
    const [inside, outside] = [await newDevice(organization), await newDevice(organization)]
    await store(
      'location',
      row(organization, inside, 2 * minuteMs, fixAt(10, 10)),
      row(organization, outside, 2 * minuteMs, fixAt(50, 50)),
    )
    const box = 'bbox=9,9,11,11'
    const first = await eventually(
      () => gps(organization, box),
      (body: Json) => idsOf({ body }).length === 1,
    )
    await store(
      'location',
      row(organization, inside, minuteMs, fixAt(30, 30)),
      row(organization, outside, minuteMs, fixAt(51, 51)),
    )
    const left = await eventually(
      () => gps(organization, `${box}&since=${first.body.asOf}`),
      (body: Json) => body.gone.length > 0,
    )
    expect(left.body).toMatchObject({ devices: [], gone: [inside] })
  })

  test('200 with the asOf of another process returns everything, and the devices removed since', async () => {
    const organization = await api.newOrganization()
    const [kept, deleted] = [await newDevice(organization), await newDevice(organization)]
    const asOf = `00000000-1-${(Date.now() - minuteMs).toString(36)}`
    await api.call('DELETE', `/devices/${deleted}`, { token: organization.key })
    const { body } = await gps(organization, `since=${asOf}`)
    expect(idsOf({ body })).toEqual([kept])
    expect(body.gone).toEqual([deleted])
  })

  test('304 while only ages change', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    await store('location', row(organization, deviceId, minuteMs, fixAt(10, 10)))
    const first = await eventually(
      () => gps(organization),
      (body: Json) => idsOf({ body }).length === 1,
    )
    const etag = first.headers.get('etag') ?? ''
    expect(await gps(organization, '', { 'if-none-match': etag })).toMatchObject({ status: 304, body: '' })
    await store('location', row(organization, deviceId, 0, fixAt(10, 11)))
    await eventually(
      () => gps(organization, '', { 'if-none-match': etag }),
      (body: Json) => typeof body !== 'string',
    )
  })

  test('200 merges the organizations a caller can read', async () => {
    const [one, two, other] = [await api.newOrganization(), await api.newOrganization(), await api.newOrganization()]
    const devices = [await newDevice(one), await newDevice(two)]
    await newDevice(other)
    const key = await api.newKey([one.id, two.id], 'viewer')
    expect(idsOf(await gps({ id: '', key })).sort()).toEqual(devices.sort())
  })

  test('200 compresses the response and clusters devices that would overlap', async () => {
    const organization = await api.newOrganization()
    const ids = await Promise.all([1, 2, 3].map(() => newDevice(organization)))
    const places = [fixAt(10, 10), fixAt(10.0001, 10.0001), fixAt(40, 40)]
    await store('location', ...ids.map((id, index) => row(organization, id, minuteMs, places[index] ?? {})))
    const { body } = await gps(organization, 'cluster=true&zoom=5&include=devices')
    expect(body.clusters).toMatchObject([{ devices: 2, byStatus: { provisioning: 2 } }])
    expect(idsOf({ body })).toEqual([ids[2]])
    const packed = await api.fetch('/fleet/gps', {
      headers: { authorization: `Bearer ${organization.key}`, 'accept-encoding': 'gzip' },
    })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
  })

  test('200 with trails returns the track of each device', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    await store(
      'location',
      row(organization, deviceId, 3 * minuteMs, fixAt(10, 10)),
      row(organization, deviceId, 2 * minuteMs, fixAt(10.1, 10)),
    )
    await store('cellular', row(organization, deviceId, 2 * minuteMs, { rat: 'lte', rsrpDbm: -90 }))
    const { body } = await gps(organization, 'include=trails&sinceMinutes=10')
    expect(body.trails).toMatchObject([{ deviceId, points: [{ lat: 10 }, { lat: 10.1, quality: 'good' }] }])
  })

  test('200 with trails: the quality of radio before LTE, and of the modem that was active then', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const at = (agoMinutes: number, fields: Record<string, unknown>) =>
      row(organization, deviceId, agoMinutes * minuteMs, fields)
    await store('location', ...[4, 3, 2].map((ago) => at(ago, fixAt(10, 10 + ago))))
    await store(
      'cellular',
      at(4, { rat: 'hspa', rssiDbm: -100 }),
      at(3, { modem: 'wwan0', rat: 'lte', rsrpDbm: -90 }),
      at(2, { modem: 'wwan0', rat: 'gsm', rssiDbm: -85 }),
      ...[3, 2].map((ago) => at(ago - 0.1, { modem: 'wwan1', rat: 'lte', rsrpDbm: -110 })),
    )
    await store(
      'connection',
      at(3, { modem: 'wwan0', state: 'connected' }),
      at(2, { modem: 'wwan0', state: 'disconnected' }),
      at(2, { modem: 'wwan1', state: 'connected' }),
    )
    const { body } = await gps(organization, 'include=trails&sinceMinutes=10')
    expect(body.trails[0].points).toMatchObject([
      { modem: null, rat: 'hspa', quality: 'poor' },
      { modem: 'wwan0', rsrpDbm: -90, quality: 'good' },
      { modem: 'wwan1', rsrpDbm: -110, quality: 'poor' },
    ])
    const columns = (await gps(organization, 'include=trails&sinceMinutes=10&format=columnar')).body.trails
    expect([columns.modem, columns.quality]).toEqual([
      [null, 'wwan0', 'wwan1'],
      ['poor', 'good', 'poor'],
    ])
  })

  test('200 limits the window to the plan; 403 plan_feature on a plan without fleet GPS', async () => {
    const pro = await api.newOrganization({ plan: 'pro' })
    expect((await gps(pro, 'sinceMinutes=129600')).body.window).toMatchObject({ limitedBy: 'plan' })
    const free = await api.newOrganization({ plan: 'free' })
    for (const path of [
      '/fleet/gps',
      '/fleet/coverage',
      '/fleet/dwells',
      '/fleet/gps/stream',
      `/fleet/gps?orgId=${free.id}`,
    ]) {
      expect(await api.call('GET', path, { token: free.key })).toMatchObject({
        status: 403,
        body: { code: 'plan_feature' },
      })
    }
  })

  test('404 for another organization or group, 403 without fleet:read, 401 without credentials', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    expect(await gps(mine, `orgId=${other.id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await gps(mine, `groupId=${newId()}`)).toMatchObject({ status: 404 })
    const key = await api.newKey([mine.id], ['device:read'])
    expect(await gps({ id: '', key })).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
    expect(await api.call('GET', '/fleet/gps')).toMatchObject({ status: 401 })
  })

  test.each([
    'bbox=1,2,3',
    'bbox=0,10,1,5',
    'bbox=-190,0,1,1',
    'sinceMinutes=0',
    'h3Resolution=3',
    'h3Resolution=11',
    'include=cats',
    'fields=password',
    'format=xml',
    'since=yesterday',
    'cursor=AAAA',
    'rat=6g',
    'plmn=1',
    'cluster=true',
    'box=1',
  ])('400 for %s', async (query) => {
    const organization = await api.newOrganization()
    expect(await gps(organization, query)).toMatchObject({ status: 400 })
  })
})

describe('GET /fleet/dwells', () => {
  const stay = (
    organization: Organization,
    deviceId: string,
    arrivedAgoMs: number,
    fields: Record<string, unknown>,
  ) => {
    const arrived = row(organization, deviceId, arrivedAgoMs, {
      lat: 10,
      lon: 10,
      radiusM: 20,
      fixCount: 3,
      gap: false,
      ...fields,
    })
    return { ...arrived, id: newId() }
  }

  test('200 lists newest arrival first, with the signal during the dwell, in pages', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const nowMs = Date.now()
    const over = stay(organization, deviceId, 3 * hourMs, {
      departedAtMs: nowMs - 2 * hourMs,
      firstOutsideAtMs: nowMs - 2 * hourMs + 5_000,
    })
    const ongoing = stay(organization, deviceId, hourMs, { departedAtMs: null })
    const withdrawn = stay(organization, deviceId, 30 * minuteMs, { withdrawn: true })
    await store('dwell', over, ongoing, withdrawn)
    const sample = (agoMs: number, fields: Record<string, unknown>) => row(organization, deviceId, agoMs, fields)
    await store(
      'cellular',
      sample(2.9 * hourMs, { rat: 'lte', rsrpDbm: -100, sinrDb: 1 }),
      sample(2.8 * hourMs, { rat: 'none' }),
      sample(2.7 * hourMs, { rat: 'lte', rsrpDbm: -90.4, sinrDb: 3 }),
      sample(2.6 * hourMs, { rat: 'lte', rsrpDbm: -80, sinrDb: 9 }),
    )
    const read = (query: string) => api.call('GET', `/fleet/dwells?${query}`, { token: organization.key })
    const { status, body } = await read('sinceMinutes=1440')
    expect(status).toBe(200)
    expect(body.items).toEqual([
      expect.objectContaining({
        id: ongoing.id,
        deviceId,
        departedAt: null,
        durationS: expect.any(Number),
        noServiceS: 0,
      }),
      {
        ...{
          id: over.id,
          deviceId,
          arrivedAt: new Date(over.tsMs).toISOString(),
          lat: 10,
          lon: 10,
          radiusM: 20,
          fixCount: 3,
          gap: false,
        },
        near: { name: 'Yamrat', country: 'NG', distanceKm: expect.any(Number), bearing: expect.any(Number) },
        departedAt: new Date(nowMs - 2 * hourMs).toISOString(),
        firstOutsideAt: new Date(nowMs - 2 * hourMs + 5_000).toISOString(),
        durationS: expect.closeTo(3600, -1),
        ...{ rsrpP50Dbm: -90, sinrP50Db: 3, noServiceS: 360 },
      },
    ])
    const page = (await read('limit=1')).body
    expect(page.items).toMatchObject([{ id: ongoing.id }])
    expect((await read(`limit=1&cursor=${page.nextCursor}`)).body).toMatchObject({
      items: [{ id: over.id }],
      nextCursor: null,
    })
    expect((await read('ongoing=true')).body.items).toMatchObject([{ id: ongoing.id }])
    expect((await read('ongoing=false')).body.items).toMatchObject([{ id: over.id }])
    expect((await read('minDurationS=4000&ongoing=false')).body.items).toEqual([])
    expect((await read(`deviceId=${newId()}`)).body.items).toEqual([])
    expect((await read('bbox=50,50,51,51')).body.items).toEqual([])
    expect((await read('sinceMinutes=100')).body.items).toMatchObject([{ id: ongoing.id }])

    const shown = await eventually(
      () => gps(organization),
      (found: Json) => found.dwells.length === 2,
    )
    expect(shown.body.devices).toMatchObject([
      { dwell: { lat: 10, radiusM: 20, arrivedAt: new Date(ongoing.tsMs).toISOString() } },
    ])
    await api.call('DELETE', `/devices/${deviceId}`, { token: organization.key })
    expect((await read('')).body.items).toEqual([])
  })
})

describe('GET /fleet/gps/stream', () => {
  test('200 sends a snapshot, then a delta when a device moved', async () => {
    const organization = await api.newOrganization()
    const deviceId = await newDevice(organization)
    const abort = new AbortController()
    const answer = await api.fetch('/fleet/gps/stream?include=devices', {
      headers: { authorization: `Bearer ${organization.key}` },
      signal: abort.signal,
    })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    const nextEvent = async () => {
      const { value = '' } = (await reader?.read()) ?? {}
      const [, event, id, data = ''] = /^event: (\w+)\nid: (\S+)\ndata: (.*)\n\n$/.exec(value) ?? []
      return { event, id, data: JSON.parse(data) }
    }
    expect(await nextEvent()).toMatchObject({ event: 'snapshot', data: { devices: [{ deviceId, location: null }] } })
    await store('location', row(organization, deviceId, 0, fixAt(10, 10)))
    expect(await nextEvent()).toMatchObject({
      event: 'delta',
      data: { devices: [{ deviceId, location: { lat: 10 } }] },
    })
    await reader?.cancel()
  })
})

test('GET /signal-thresholds returns 200 for any authenticated caller', async () => {
  const { key } = await api.newOrganization({ plan: 'free' })
  expect(await api.call('GET', '/signal-thresholds', { token: key })).toMatchObject({
    status: 200,
    body: { rsrpDbm: [-115, -105, -95, -85], sinrDb: [-3, 1, 5, 13], rssiDbm: [-104, -98, -89, -80] },
  })
})
