import { cellToLatLng, cellToParent, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { type Voter, votesIn } from '#test/coverage-rows'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function fleet(plan?: string) {
  const organization = await api.newOrganization(plan ? { plan } : {})
  const newVoter = async (): Promise<Voter> => {
    const json = { organizationId: organization.id, serial: crypto.randomUUID(), name: 'Van', model: 'R1' }
    const created = await api.call('POST', '/devices', { token: organization.key, json })
    return { organizationId: organization.id, deviceId: created.body.id }
  }
  return { organization, newVoter }
}

async function store(...rows: StoredRow[][]): Promise<void> {
  await storeRows(api.questdb, 'cellular', rows.flat())
  await refreshCoverage(api.questdb)
}

const forecast = (key: string, json: object) => api.call('POST', '/fleet/forecast', { token: key, json })

/** A road eastwards at a latitude, with the resolution-10 cell around each of its points. */
const road = (lat: number, kilometres: number, everyM = 100) =>
  Array.from({ length: kilometres * 10 + 1 }, (_, index) => {
    const lon = -8 + (index * everyM) / (111_195 * Math.cos((lat * Math.PI) / 180))
    return { lat, lon, h3: latLngToCell(lat, lon, 10) }
  })
/** These lines in GeoJSON: in one geometry, in features with two points, and in geometries with one polygon. */
function manyForms([first, second]: unknown[][][]) {
  const [one, two] = [first, second].map((coordinates) => ({ type: 'LineString', coordinates }))
  const feature = (geometry: unknown) => ({ type: 'Feature', properties: { time: [1] }, geometry })
  const point = feature({ type: 'Point', coordinates: [1, 2] })
  return [
    { type: 'MultiLineString', coordinates: [first, second] },
    { type: 'FeatureCollection', bbox: [1], features: [point, feature(one), feature(null), feature(two), point] },
    feature({ type: 'GeometryCollection', geometries: [one, { type: 'Polygon', coordinates: [] }, two] }),
  ]
}
const pathOf = (points: readonly { lat: number; lon: number }[]) => points.map(({ lat, lon }) => [lon, lat])

type Segment = {
  fromM: number
  toM: number
  samples: number
  confidence: string
  serviceRatio: number | null
} & Record<string, unknown>

describe('POST /fleet/forecast', () => {
  test('200 returns a forecast for each segment of the path', async () => {
    const { organization, newVoter } = await fleet()
    const [one, two] = [await newVoter(), await newVoter()]
    const points = road(51.5, 3)
    const [first, last] = [points[0], points.at(-1)]
    const middle = points[15]?.h3 ?? ''
    await store(
      votesIn(one, middle, 20, { rsrpDbm: -101, sinrDb: 4 }),
      votesIn(two, middle, 20, { rat: 'nr-nsa', plmn: '27202', rsrpDbm: -91, sinrDb: 8 }),
    )
    const { status, body } = await forecast(organization.key, { path: pathOf(points) })
    expect(status).toBe(200)
    expect(body).toMatchObject({ asOf: expect.any(String), window: { limitedBy: null }, everyM: 100 })
    expect(body.lengthM).toBeCloseTo(first && last ? distanceM(first, last) : Number.NaN, -1)
    const segments: Segment[] = body.segments
    expect(segments[0]?.fromM).toBe(0)
    expect(segments.at(-1)?.toM).toBe(body.lengthM)
    expect(segments.slice(1).every(({ fromM }, index) => fromM === segments[index]?.toM)).toBe(true)
    const known = segments.find(({ h3 }) => h3 === middle)
    expect(known).toMatchObject({
      ...{ h3Resolution: 10, samples: 40, devices: 2, serviceRatio: 1, quality: 'fair', confidence: 'high' },
      ...{ rsrpDbm: { p10: -101, p50: -101, p90: -91 }, sinrDb: { p10: 4, p50: 4 } },
      byRat: { lte: { samples: 20, share: 0.5 }, 'nr-nsa': { samples: 20, share: 0.5 } },
      byPlmn: {
        '27201': { samples: 20, serviceRatio: 1, rsrpDbm: { p10: -101, p50: -101, p90: -101 }, best: false },
        '27202': { samples: 20, serviceRatio: 1, rsrpDbm: { p10: -91, p50: -91, p90: -91 }, best: true },
      },
    })
    const coarse = segments.find((segment) => segment.h3Resolution === 7)
    expect(coarse).toMatchObject({ h3: cellToParent(middle, 7), samples: 40 })
    expect(body.summary.byPlmn['27202']).toMatchObject({ deadM: 0, poorM: 0, rsrpP50Dbm: -91 })
    expect(body.summary.recommendedPlmn).toBe('27202')
  })

  test('200 returns null for segments without samples', async () => {
    const { organization } = await fleet()
    const { body } = await forecast(organization.key, { path: pathOf(road(10, 1)), everyM: 250 })
    expect(body.segments).toHaveLength(4)
    for (const segment of body.segments) {
      expect(segment).toMatchObject({
        ...{ samples: 0, devices: 0, serviceRatio: null, quality: null, confidence: 'none', rsrpDbm: null },
        ...{ sinrDb: null, byRat: {}, byPlmn: {} },
      })
    }
    expect(body.summary).toEqual({
      ...{ knownM: 0, deadM: 0, poorM: 0, deadZones: [], byPlmn: {}, recommendedPlmn: null },
    })
  })

  test('200 returns the dead stretch of a tunnel with its length, and the operator with service there', async () => {
    const { organization, newVoter } = await fleet()
    const [one, two] = [await newVoter(), await newVoter()]
    const points = road(52.5, 4)
    const cells = [...new Set(road(52.5, 20, 20).map(({ h3 }) => h3))]
    const [fromLon = 0, toLon = 0] = [points[15]?.lon, points[25]?.lon]
    const isTunnel = (h3: string) => cellToLatLng(h3)[1] >= fromLon && cellToLatLng(h3)[1] < toLon
    await store(
      ...cells.flatMap((h3) => [
        votesIn(one, h3, 12, isTunnel(h3) ? { rat: 'none', plmn: '27201' } : { plmn: '27201' }),
        votesIn(two, h3, 1, { plmn: '27202', rsrpDbm: -96 }),
      ]),
    )
    const { body } = await forecast(organization.key, { path: { type: 'LineString', coordinates: pathOf(points) } })
    const { deadZones, deadM, knownM, poorM, byPlmn, recommendedPlmn } = body.summary
    expect(deadZones).toHaveLength(1)
    expect(Math.abs(deadZones[0].fromM - 1_500)).toBeLessThanOrEqual(200)
    expect(Math.abs(deadZones[0].toM - 2_500)).toBeLessThanOrEqual(200)
    expect(deadZones[0].lengthM).toBeCloseTo(deadM, 6)
    expect(knownM).toBeCloseTo(body.lengthM, 6)
    expect(poorM).toBe(0)
    expect(byPlmn['27201'].deadM).toBeGreaterThan(800)
    expect(byPlmn['27202'].deadM).toBe(0)
    expect(recommendedPlmn).toBe('27202')
  })

  test('200 a router with two modems has service where one of them has; each operator is told for itself', async () => {
    const { organization, newVoter } = await fleet()
    const truck = await newVoter()
    const points = road(53.5, 4)
    const cells = [...new Set(road(53.5, 20, 20).map(({ h3 }) => h3))]
    const [middle = 0] = [points[20]?.lon]
    const isDark = (h3: string) => cellToLatLng(h3)[1] >= middle
    const [first, second] = [{ modem: 'wwan0' }, { modem: 'wwan1' }]
    // The second modem never has service, and on the second half of the road the first has none either.
    await store(
      ...cells.flatMap((h3) => [
        votesIn(truck, h3, 6, { ...first, plmn: '27201', ...(isDark(h3) ? { rat: 'none' } : { rsrpDbm: -90 }) }),
        votesIn(truck, h3, 6, { ...second, rat: 'none', plmn: null, lostPlmn: '27202' }),
      ]),
    )
    const path = pathOf(points)
    for (const query of [{}, { everyM: 500 }]) {
      const { summary, lengthM } = (await forecast(organization.key, { path, ...query })).body
      expect(Math.abs(summary.deadM - lengthM / 2)).toBeLessThanOrEqual(500)
      expect(summary.byPlmn['27202'].deadM).toBeCloseTo(lengthM, 0)
      expect(summary.recommendedPlmn).toBe('27201')
    }
    const ofSecond = await forecast(organization.key, { path, plmn: '27202' })
    expect(ofSecond.body.summary.deadM).toBeCloseTo(ofSecond.body.lengthM, 0)
  })

  test('200 takes the lines of GeoJSON as stretches, and does not drive the gaps between them', async () => {
    const { organization, newVoter } = await fleet()
    const [here, there] = [road(48.5, 1), road(58.5, 2)]
    const [end, start] = [here.at(-1)?.h3 ?? '', there[0]?.h3 ?? '']
    const voter = await newVoter()
    await store(...[end, start].map((h3) => votesIn(voter, h3, 10, { rat: 'none', plmn: '27201' })))
    const lines = [here, there].map((points) => pathOf(points).map((lonLat) => [...lonLat, 12.5, null]))
    const answers = await Promise.all([
      ...[here, there].map((points) => forecast(organization.key, { path: pathOf(points) })),
      ...manyForms(lines).map((path) => forecast(organization.key, { path })),
    ])
    const [first, second, ...together] = answers.map(({ body }) => body)
    const { lengthM: hereM } = first
    for (const body of together) {
      expect(body.lengthM).toBe(hereM + second.lengthM)
      expect(body.stretches).toEqual([
        { fromM: 0, toM: hereM },
        { fromM: hereM, toM: body.lengthM },
      ])
      const at = ({ lat, lon, rsrpDbm, confidence }: Segment) => ({ lat, lon, rsrpDbm, confidence })
      expect(body.segments.map(at)).toEqual([...first.segments, ...second.segments].map(at))
      expect(body.segments.map(({ toM }: Segment) => toM)).toContain(hereM)
      // The first line ends in a dead cell and the second one starts in one.
      expect(body.summary.deadZones).toHaveLength(2)
      expect(body.summary.deadZones).toMatchObject([{ toM: hereM }, { fromM: hereM }])
      expect(body.summary.deadM).toBeCloseTo(first.summary.deadM + second.summary.deadM, 6)
      expect(body.summary.byPlmn['27201'].knownM).toBeLessThan(2_000)
    }
    expect(together.map(({ ignoredGeometries }) => ignoredGeometries)).toEqual([undefined, 2, 1])
    expect(first).not.toHaveProperty('stretches')
  })

  test('200 ignores altitudes, bbox, crs and the properties of a feature', async () => {
    const { organization } = await fleet()
    const coordinates = pathOf(road(10, 1))
    const { body: plain } = await forecast(organization.key, { path: coordinates })
    const crs = { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } }
    const line = {
      type: 'LineString',
      bbox: [-8, 10, -7, 10],
      crs,
      coordinates: coordinates.map((one) => [...one, 3, 4]),
    }
    for (const path of [line, { type: 'Feature', id: 1, properties: { name: 'Ring road' }, geometry: line }]) {
      const { status, body } = await forecast(organization.key, { path })
      expect([status, body.segments, body.stretches]).toEqual([200, plain.segments, undefined])
    }
  })

  test('200 uses only the operator of plmn and the window, and merges organizations', async () => {
    const [a, b] = [await fleet(), await fleet()]
    const [voterA, voterB] = [await a.newVoter(), await b.newVoter()]
    const [lat, lon] = cellToLatLng(latLngToCell(53.1, -7.5, 10))
    const h3 = latLngToCell(lat, lon, 10)
    const path = [
      [lon - 0.0002, lat],
      [lon + 0.0002, lat],
    ]
    await store(
      votesIn(voterA, h3, 10, { plmn: '27201', rsrpDbm: -100 }),
      votesIn(voterA, h3, 10, { plmn: '27202', rsrpDbm: -80 }, Date.now() - 5 * 3_600_000),
      votesIn(voterB, h3, 10, { plmn: '27203', rsrpDbm: -60 }),
    )
    const both = await api.newKey([a.organization.id, b.organization.id], 'viewer')
    const first = async (key: string, more: object) => (await forecast(key, { path, ...more })).body.segments[0]
    expect(await first(both, {})).toMatchObject({ samples: 30, devices: 2 })
    expect(await first(both, { orgId: b.organization.id })).toMatchObject({ samples: 10, rsrpDbm: { p50: -60 } })
    expect(await first(both, { plmn: '27202' })).toMatchObject({ samples: 10, rsrpDbm: { p50: -80 } })
    expect(await first(a.organization.key, { sinceMinutes: 60 })).toMatchObject({ samples: 10, rsrpDbm: { p50: -100 } })
    expect(await first(a.organization.key, {})).toMatchObject({ samples: 20, devices: 1, confidence: 'low' })
    expect(gridDisk(h3, 1)).toHaveLength(7)
  })

  test('200 limits the window to the plan, and returns no segments for a path without length', async () => {
    const { organization } = await fleet('pro')
    const still = [
      [1, 1],
      [1, 1],
    ]
    const { body } = await forecast(organization.key, { path: still, sinceMinutes: 129_600 })
    expect(body).toMatchObject({ lengthM: 0, segments: [], window: { limitedBy: 'plan' } })
  })

  test('200 for the longest allowed path', async () => {
    const { organization } = await fleet()
    const points = Array.from({ length: 5_000 }, (_, index) => [(index % 2) * 0.003, 10 + index * 0.0001])
    const answer = await forecast(organization.key, { path: points, everyM: 1_000 })
    expect(answer.status).toBe(200)
    expect(answer.body.lengthM).toBeLessThan(2_000_000)
  })

  test('400 for invalid paths and bounds, and unknown fields', async () => {
    const { organization } = await fleet()
    const path = [
      [-8, 51],
      [-8.1, 51],
    ]
    const wrong: [object, string][] = [
      [{}, '/path'],
      [{ path: [[-8, 51]] }, '/path'],
      [{ path: Array.from({ length: 5_001 }, () => [-8, 51]) }, '/path'],
      [
        {
          path: [
            [-8, 51],
            [-8, 91],
          ],
        },
        '/path',
      ],
      [
        {
          path: [
            [-181, 51],
            [-8, 51],
          ],
        },
        '/path',
      ],
      [{ path: [[-8], [-8, 51]] }, '/path'],
      [{ path: { type: 'Point', coordinates: [1, 2] } }, '/path'],
      [{ path: { type: 'Topology' } }, '/path/type'],
      [{ path: { type: 'FeatureCollection', features: [] } }, '/path'],
      [{ path: { type: 'MultiLineString', coordinates: [path, [[1, 2]]] } }, '/path/coordinates/1'],
      [{ path: { type: 'LineString', coordinates: [...path, [1, 'north']] } }, '/path/coordinates/2/1'],
      [
        { path: { type: 'Feature', geometry: { type: 'LineString', coordinates: [...path, [1]] } } },
        '/path/geometry/coordinates/2',
      ],
      [{ path: { type: 'MultiLineString', coordinates: Array.from({ length: 2_501 }, () => path) } }, '/path'],
      [{ path: { type: 'MultiLineString', coordinates: Array.from({ length: 60_000 }, () => 1) } }, '/path'],
      [
        {
          path: [
            [0, 0],
            [0, 18.1],
          ],
        },
        '/path',
      ],
      [{ path, everyM: 49 }, '/everyM'],
      [{ path, everyM: 1_001 }, '/everyM'],
      [{ path, everyM: '100' }, '/everyM'],
      [{ path, sinceMinutes: 0 }, '/sinceMinutes'],
      [{ path, plmn: '2' }, '/plmn'],
      [{ path, orgId: 'x' }, '/orgId'],
      [{ path, speed: 3 }, '/speed'],
    ]
    for (const [json, pointer] of wrong) {
      const { status, body } = await forecast(organization.key, json)
      const sent = JSON.stringify(json).slice(0, 80)
      expect([status, sent]).toEqual([400, sent])
      expect(body.errors[0].pointer.startsWith(pointer)).toBe(true)
    }
  })

  test('403 without the scope and on a plan without coverage; 404 for a foreign organization', async () => {
    const { organization } = await fleet()
    const path = pathOf(road(51, 1))
    const weak = await api.newKey([organization.id], ['device:read'])
    expect(await forecast(weak, { path, orgId: organization.id })).toMatchObject({
      ...{ status: 403, body: { code: 'insufficient_scope' } },
    })
    const free = await fleet('free')
    expect(await forecast(free.organization.key, { path })).toMatchObject({
      status: 403,
      body: { code: 'plan_feature' },
    })
    expect(await forecast(organization.key, { path, orgId: free.organization.id })).toMatchObject({ status: 404 })
  })
})
