import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice, transferDevice } from '#test/registered-device'
import { applied, storeRows } from '#test/telemetry-rows'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const minuteMs = 60_000
const metre = 1 / 111_195
const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs
/** Times of a day: minutes before now. */
const at = (agoMinutes: number) => nowMs - agoMinutes * minuteMs
const iso = (ms: number) => new Date(ms).toISOString()

async function newTruck(tags: string[] = []) {
  const organization = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organization.id)
  if (tags.length > 0) await api.call('PATCH', `/devices/${deviceId}`, { token: organization.key, json: { tags } })
  const of = { deviceId, organizationId: organization.id }
  /** A stay of the device, this many metres north of the start. */
  const dwell = (fromMs: number, toMs: number | null, northM: number) => ({
    ...{ ...of, id: newId(), tsMs: fromMs, receivedAtMs: fromMs, departedAtMs: toMs, lastInsideAtMs: toMs ?? fromMs },
    ...{ lat: 50 + northM * metre, lon: 8, radiusM: 5, fixCount: 2, gap: false, withdrawn: false },
  })
  /** A fix each 30 s, 300 m apart, and a sample with it. */
  const drive = async (fromMs: number, fixes: number, fromM: number, radio: Record<string, unknown> = {}) => {
    const times = Array.from({ length: fixes }, (_, index) => fromMs + index * 30_000)
    const location = (tsMs: number, index: number) => ({
      ...{ ...of, tsMs, lat: 50 + (fromM + index * 300) * metre, lon: 8, accuracyM: 5, fix: '3d', usable: true },
    })
    await storeRows(api.questdb, 'location', times.map(location))
    const sample = (tsMs: number) => ({ ...of, tsMs, rat: 'lte', plmn: '26201', rsrpDbm: -95, sinrDb: 7, ...radio })
    await storeRows(api.questdb, 'cellular', times.map(sample))
  }
  const trips = async (query = '') => api.call('GET', `/fleet/trips?${query}`, { token: organization.key })
  return { organization, deviceId, dwell, drive, trips }
}

test('200 a trip is the way from a dwell to the next one, and one that is not over has no arrival', async () => {
  const { organization, deviceId, dwell, drive, trips } = await newTruck()
  await storeRows(api.questdb, 'dwell', [dwell(at(300), at(200), 0), dwell(at(190), at(60), 6_000)])
  await drive(at(200), 21, 0, { rat: 'none', rsrpDbm: null, sinrDb: null })
  await drive(at(60), 11, 6_000)
  const depot = {
    type: 'Polygon',
    coordinates: [
      [
        [7.9, 49.99],
        [8.1, 49.99],
        [8.1, 50.01],
        [7.9, 50.01],
        [7.9, 49.99],
      ],
    ],
  }
  const token = organization.key
  const place = await api.call('POST', `/orgs/${organization.id}/places`, {
    token,
    json: { name: 'Depot', area: depot },
  })
  const near = { name: expect.any(String), country: 'DE', distanceKm: expect.any(Number), bearing: expect.any(Number) }
  const { status, body } = await trips()
  expect([status, body.nextCursor]).toEqual([200, null])
  expect(body.items).toEqual([
    {
      ...{ deviceId, departedAt: iso(at(60)), arrivedAt: null, durationS: 300, gap: false },
      ...{ from: { lat: expect.closeTo(50 + 6_000 * metre), lon: 8, near, placeId: null, placeName: null } },
      ...{
        to: { lat: expect.closeTo(50 + 9_000 * metre), lon: 8, near, placeId: null, placeName: null },
        distanceM: 3_000,
      },
      ...{ noServiceS: 0, rsrpP50Dbm: -95, sinrP50Db: 7 },
    },
    {
      ...{ deviceId, departedAt: iso(at(200)), arrivedAt: iso(at(190)), durationS: 600, gap: false },
      ...{ from: { lat: 50, lon: 8, near, placeId: place.body.id, placeName: 'Depot' } },
      ...{
        to: { lat: expect.closeTo(50 + 6_000 * metre), lon: 8, near, placeId: null, placeName: null },
        distanceM: 6_000,
      },
      ...{ noServiceS: 600, rsrpP50Dbm: null, sinrP50Db: null },
    },
  ])
  expect((await trips('sinceMinutes=120')).body.items).toHaveLength(1)
  expect((await trips(`from=${iso(at(210))}&to=${iso(at(100))}`)).body.items).toMatchObject([{ distanceM: 6_000 }])
  expect((await trips(`deviceId=${newId()}`)).body.items).toEqual([])
})

test('200 a stay whose first fix is older than the last report of the stay before is the end of a way', async () => {
  const { dwell, drive, trips } = await newTruck()
  await storeRows(api.questdb, 'dwell', [dwell(at(300), at(200), 0), dwell(at(200) - 2_000, at(100), 160)])
  await drive(at(200), 1, 0)
  await drive(at(199), 2, 160)
  await drive(at(100), 11, 160)
  expect((await trips()).body.items).toMatchObject([{ departedAt: iso(at(100)), arrivedAt: null, distanceM: 3_000 }])
})

test('200 a silence of more than 15 minutes splits a trip, also over pages', async () => {
  const { organization, dwell, drive, trips } = await newTruck(['ferry'])
  await storeRows(api.questdb, 'dwell', [
    dwell(at(500), at(400), 0),
    dwell(at(360), at(350), 20_000),
    dwell(at(340), null, 23_000),
  ])
  await drive(at(400), 11, 0)
  await drive(at(365), 11, 17_000)
  await drive(at(350), 11, 20_000)
  const { items } = (await trips('tag=ferry')).body
  expect(items).toMatchObject([
    { departedAt: iso(at(350)), arrivedAt: iso(at(340)), gap: false, distanceM: 3_000 },
    { departedAt: iso(at(365)), arrivedAt: iso(at(360)), gap: true, distanceM: 3_000 },
    { departedAt: iso(at(400)), arrivedAt: iso(at(395)), gap: true, distanceM: 3_000 },
  ])
  const paged: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await api.call('GET', `/fleet/trips?limit=1${cursor && `&cursor=${cursor}`}`, {
      token: organization.key,
    })
    expect(page.body.items.length).toBeLessThanOrEqual(1)
    paged.push(...page.body.items)
    cursor = page.body.nextCursor
  }
  expect(paged).toEqual(items)
  expect((await trips('tag=other')).body.items).toEqual([])
})

test('200 of a way with very many fixes, some of them are read', async () => {
  const { deviceId, organization, dwell, trips } = await newTruck()
  await storeRows(api.questdb, 'dwell', [dwell(at(300), at(200), 0)])
  // Ten fixes a second for 40 minutes, one metre apart.
  await api.questdb.query(
    `INSERT INTO location (ts, device_id, org_id, received_at, lat, lon, usable)
     SELECT dateadd('T', (x::int - 1) * 100, '${iso(at(200))}'::timestamp), '${deviceId}', '${organization.id}',
            '${iso(at(200))}'::timestamp, 50 + (x - 1) * ${metre}, 8.0, true FROM long_sequence(24000)`,
  )
  await applied(api.questdb, 'location')
  const [trip] = (await trips()).body.items
  expect(trip).toMatchObject({ durationS: 2_400, arrivedAt: null })
  expect(Math.abs(trip.distanceM - 24_000)).toBeLessThan(50)
})

test('another organization sees no trip, and a new owner those since the transfer', async () => {
  const { organization, deviceId, dwell, drive, trips } = await newTruck()
  await storeRows(api.questdb, 'dwell', [dwell(at(300), at(200), 0)])
  await drive(at(200), 5, 0)
  const other = await api.newOrganization()
  const seenBy = async ({ key }: { key: string }, query = '') =>
    (await api.call('GET', `/fleet/trips?${query}`, { token: key })).body.items
  expect(await seenBy(other, `deviceId=${deviceId}`)).toEqual([])
  await transferDevice(api.services.pool, deviceId, other.id, at(100))
  expect(await seenBy(other)).toEqual([])
  // The trip that was under way ended for its owner.
  expect((await trips()).body.items).toMatchObject([{ deviceId, arrivedAt: iso(at(100)), distanceM: 1_200 }])
  expect((await api.call('GET', `/fleet/trips?orgId=${organization.id}`, { token: other.key })).status).toBe(404)
})

test.each([
  'limit=0',
  'sinceMinutes=0',
  'from=yesterday',
  `from=${iso(at(1))}&to=${iso(at(2))}`,
  'bbox=1,2,3,4',
  'cursor=x',
])('400 for %s', async (query) => {
  const { trips } = await newTruck()
  expect((await trips(query)).status).toBe(400)
})
