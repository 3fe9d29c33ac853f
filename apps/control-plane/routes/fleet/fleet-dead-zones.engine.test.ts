import { cellToCenterChild, cellToChildren, cellToLatLng, cellToParent, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { registerDevice, transferDevice } from '#test/registered-device'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function fleet(plan?: string) {
  const organization = await api.newOrganization(plan ? { plan } : {})
  const newVoter = async (tags: string[] = []) => {
    const json = {
      organizationId: organization.id,
      serial: crypto.randomUUID(),
      name: 'Van',
      model: 'R1',
      tags: [] as string[],
    }
    const created = await api.call('POST', '/devices', { token: organization.key, json: { ...json, tags } })
    return { organizationId: organization.id, deviceId: created.body.id as string }
  }
  return { organization, newVoter }
}

async function store(...rows: StoredRow[][]): Promise<void> {
  await storeRows(api.questdb, 'cellular', rows.flat())
  await refreshCoverage(api.questdb)
}

const signalTrend = (key: string, query = '') => api.call('GET', `/fleet/signal-trend?${query}`, { token: key })
const deadZones = (key: string, query = '') => api.call('GET', `/fleet/dead-zones?${query}`, { token: key })

// A tunnel: two neighbouring cells of resolution 9; and a place far from it.
const tunnel = latLngToCell(52.1, -8.1, 9)
const exit = gridDisk(tunnel, 1).find((h3) => h3 !== tunnel) ?? ''
const far = latLngToCell(52.6, -8.1, 9)
const inside = (h3: string) => cellToCenterChild(h3, 10)
const none = { rat: 'none' }

describe('GET /fleet/dead-zones', () => {
  test('200 joins adjacent cells and returns the time without service, devices and operators', async () => {
    const { organization, newVoter } = await fleet()
    const [one, two] = [await newVoter(), await newVoter()]
    await store(
      votesIn(one, inside(tunnel), 6, { ...none, plmn: '27201' }),
      votesIn(two, cellToChildren(exit, 10)[3] ?? '', 3, { ...none, plmn: '27201' }),
      votesIn(two, inside(exit), 5, { plmn: '27202' }),
      votesIn(two, inside(far), 9, none),
      // Served well, and too few votes: neither is dead.
      votesIn(one, inside(latLngToCell(53, -8.1, 9)), 50),
      votesIn(one, inside(latLngToCell(53.5, -8.1, 9)), 4, none),
    )
    const { status, body } = await deadZones(organization.key)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      asOf: expect.any(String),
      window: { limitedBy: null },
      h3Resolution: 9,
      nextCursor: null,
    })
    expect(body.items).toHaveLength(2)
    const [first, second] = body.items
    expect(first).toMatchObject({
      ...{ id: [tunnel, exit].sort()[0], cells: [tunnel, exit].sort(), samples: 14, noServiceS: 9 * 60, devices: 2 },
      ...{ worstPlmn: '27201', bestPlmn: '27202', lastAt: expect.any(String), serviceRatio: 5 / 14 },
    })
    expect(first.areaKm2).toBeGreaterThan(0.1)
    expect(second).toMatchObject({ cells: [far], noServiceS: 9 * 60, devices: 1, samples: 9, bestPlmn: null })
  })

  test('200 a vote without service counts for the operator that was lost, and a moment is dead only without any modem', async () => {
    const { organization, newVoter } = await fleet()
    const truck = await newVoter(['truck'])
    const [first, second] = [{ modem: 'wwan0' }, { modem: 'wwan1' }]
    // In the tunnel only the first modem has service, and far away none has.
    await store(
      votesIn(truck, inside(tunnel), 10, { ...first, plmn: '27201', rsrpDbm: -100 }),
      votesIn(truck, inside(tunnel), 10, { ...second, ...none, plmn: null, lostPlmn: '27202' }),
      votesIn(truck, inside(exit), 10, { ...first, plmn: '27201', rsrpDbm: -100 }),
      votesIn(truck, inside(exit), 10, { ...second, plmn: '27202', rsrpDbm: -80 }),
      votesIn(truck, inside(far), 8, { ...first, ...none, plmn: null, lostPlmn: '27201' }),
      votesIn(truck, inside(far), 8, { ...second, ...none, plmn: null }),
    )
    const token = organization.key
    const { items: cells } = (await api.call('GET', '/fleet/coverage?h3Resolution=9', { token })).body
    const cellOf = (h3: string) => cells.find((cell: { h3: string }) => cell.h3 === h3)
    expect(cellOf(tunnel)).toMatchObject({
      ...{ samples: 20, devices: 1, serviceRatio: 0.5 },
      byPlmn: {
        27201: { samples: 10, serviceRatio: 1, rsrpDbm: { p50: -100 }, best: true },
        27202: { samples: 10, serviceRatio: 0, rsrpDbm: { p50: null }, best: false },
      },
    })
    expect(cellOf(exit).byPlmn).toMatchObject({ 27201: { best: false }, 27202: { serviceRatio: 1, best: true } })
    expect(Object.keys(cellOf(far).byPlmn)).toEqual(['27201'])

    const { body } = await deadZones(token)
    expect(body.items).toMatchObject([{ cells: [far], samples: 16, noServiceS: 8 * 60, serviceRatio: 0, devices: 1 }])
    const ofOperator = await deadZones(token, 'plmn=27202')
    expect(ofOperator.body.items).toMatchObject([{ cells: [tunnel], samples: 10, noServiceS: 10 * 60 }])
    for (const query of ['sinceMinutes=60', 'sinceMinutes=60&tag=truck']) {
      const { steps } = (await signalTrend(token, query)).body
      const sum = (name: string) =>
        steps.reduce((all: number, step: Record<string, number>) => all + (step[name] ?? 0), 0)
      expect([sum('samples'), sum('noServiceS')]).toEqual([56, 8 * 60])
    }
  })

  test('200 includes cells with service whose median signal has the quality none', async () => {
    const { organization, newVoter } = await fleet()
    const voter = await newVoter()
    const [weak, noisy, fair] = [51, 51.2, 51.4].map((lat) => latLngToCell(lat, -9, 9))
    await store(
      votesIn(voter, inside(weak ?? ''), 3, { rsrpDbm: -120 }),
      votesIn(voter, cellToChildren(weak ?? '', 10)[2] ?? '', 3, { rsrpDbm: -80 }),
      votesIn(voter, inside(noisy ?? ''), 5, { sinrDb: -4 }),
      votesIn(voter, inside(fair ?? ''), 5, { rsrpDbm: -115, sinrDb: -3 }),
    )
    const { body } = await deadZones(organization.key)
    expect(body.items.map(({ id }: { id: string }) => id).sort()).toEqual([weak, noisy].sort())
    const served = { noServiceS: 0, serviceRatio: 1 }
    expect(body.items).toMatchObject([served, served])
  })

  test('200 agrees with the definition over /fleet/coverage at resolution 9', async () => {
    const { organization, newVoter } = await fleet()
    const voter = await newVoter()
    const cells = gridDisk(latLngToCell(54, -7, 9), 3)
    // Cells in turn: dead, just served enough, just not, weak, with too few votes.
    const kinds = [
      (h3: string) => [votesIn(voter, h3, 7, none)],
      (h3: string) => [votesIn(voter, h3, 9), votesIn(voter, h3, 1, none, Date.now() - 3_600_000)],
      (h3: string) => [votesIn(voter, h3, 8), votesIn(voter, h3, 1, none, Date.now() - 3_600_000)],
      (h3: string) => [votesIn(voter, h3, 6, { rsrpDbm: -116 })],
      (h3: string) => [votesIn(voter, h3, 4, none)],
    ]
    await store(...cells.flatMap((h3, index) => kinds[index % kinds.length]?.(inside(h3)) ?? []))
    const token = organization.key
    const coverage = (await api.call('GET', '/fleet/coverage?h3Resolution=9', { token })).body.items
    type Cell = { h3: string; samples: number; serviceRatio: number; quality: string | null }
    const dead = coverage.filter((c: Cell) => c.samples >= 5 && (c.serviceRatio < 0.9 || c.quality === 'none'))
    const { body } = await deadZones(organization.key)
    expect(body.items.flatMap((zone: { cells: string[] }) => zone.cells).sort()).toEqual(
      dead.map((cell: Cell) => cell.h3).sort(),
    )
    expect(dead.length).toBeGreaterThan(10)
  })

  test('200 filters by bbox, tag, group, operator, zone and time', async () => {
    const { organization, newVoter } = await fleet()
    const [north, south] = [await newVoter(['north']), await newVoter()]
    await store(
      votesIn(north, inside(tunnel), 6, { ...none, plmn: '27201' }),
      votesIn(south, inside(far), 6, { ...none, plmn: '27202' }, Date.now() - 3 * 3_600_000),
    )
    const seen = async (query: string) =>
      (await deadZones(organization.key, query)).body.items.map(({ cells }: { cells: string[] }) => cells[0])
    const [lat, lon] = cellToLatLng(far)
    expect(await seen(`bbox=${lon - 0.01},${lat - 0.01},${lon + 0.01},${lat + 0.01}`)).toEqual([far])
    expect(await seen('tag=north')).toEqual([tunnel])
    expect(await seen('plmn=27202')).toEqual([far])
    expect(await seen('sinceMinutes=60')).toEqual([tunnel])
    const group = await api.call('POST', `/orgs/${organization.id}/groups`, {
      token: organization.key,
      json: { name: 'North', smartTags: ['north'] },
    })
    expect(await seen(`groupId=${group.body.id}`)).toEqual([tunnel])
    expect(await seen(`orgId=${organization.id}`)).toHaveLength(2)
    expect(await seen(`zoneId=${far}`)).toEqual([far])
    expect(await seen(`zoneId=${exit}`)).toEqual([])
  })

  test('200 counts exactly the votes of a range in the past, as /fleet/coverage does', async () => {
    const { organization, newVoter } = await fleet()
    const voter = await newVoter(['tunnel'])
    const hourMs = 3_600_000
    const startMs = Math.floor(Date.now() / hourMs - 6) * hourMs
    // A vote every ten minutes for five hours, each in the middle of its minute.
    const votes = Array.from({ length: 30 }, (_, index) => startMs + index * 600_000 + 30_000)
    await store(
      ...votes.map((atMs) => votesIn(voter, inside(tunnel), 1, none, atMs).map((row) => ({ ...row, tsMs: atMs }))),
    )
    const ranges: [fromMinute: number, toMinute: number][] = [
      [0, 300],
      [60, 180],
      [25, 185],
      [25, 55],
      [55, 65],
      [50, 60],
      [60, 70],
      [290, 2_000],
      [-60, 0],
    ]
    for (const [from, to] of ranges) {
      const [fromMs, toMs] = [startMs + from * 60_000, startMs + to * 60_000]
      const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`
      const expected = votes.filter((atMs) => atMs >= fromMs && atMs < toMs).length
      for (const filter of ['', '&tag=tunnel']) {
        const path = `/fleet/coverage?h3Resolution=9&${range}${filter}`
        const { body } = await api.call('GET', path, { token: organization.key })
        const samples = body.items.map((cell: { samples: number }) => cell.samples)
        expect(samples, `${from} to ${to}${filter}`).toEqual(expected > 0 ? [expected] : [])
        expect(body.window).toEqual({
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          limitedBy: null,
        })
        const zones = (await deadZones(organization.key, `${range}${filter}`)).body.items
        expect(zones.map((zone: { samples: number }) => zone.samples)).toEqual(expected >= 5 ? [expected] : [])
      }
    }
  })

  test('400 for half a range and for one that ends before it starts', async () => {
    const { organization } = await fleet()
    for (const query of ['from=2026-01-01T00:00:00Z', 'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z']) {
      expect(await deadZones(organization.key, query)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: 'to' }] },
      })
    }
  })

  test('200 returns pages of the same list while votes are added', async () => {
    const { organization, newVoter } = await fleet()
    const voter = await newVoter()
    const places = Array.from({ length: 7 }, (_, index) => latLngToCell(40 + index, -3, 9))
    await store(...places.map((h3, index) => votesIn(voter, inside(h3), 5 + (index % 3), none)))
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const page = await deadZones(organization.key, `limit=3${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`)
      ids.push(...page.body.items.map(({ id }: { id: string }) => id))
      cursor = page.body.nextCursor
      expect(page.headers.get('link') !== null).toBe(cursor !== null)
      // The shortest zone becomes the longest while the pages are read.
      await store(votesIn(voter, inside(places[0] ?? ''), 30, none, Date.now() - 3_600_000))
    } while (cursor !== null)
    expect([...ids].sort()).toEqual([...places].sort())
    const lengths = (await deadZones(organization.key)).body.items.map(
      (zone: { noServiceS: number }) => zone.noServiceS,
    )
    expect(lengths).toEqual([...lengths].sort((a: number, b: number) => b - a))
  })

  test('200 merges the votes of the caller’s organizations before cells are rated', async () => {
    const [a, b, stranger] = [await fleet(), await fleet(), await fleet()]
    const [voterA, voterB] = [await a.newVoter(), await b.newVoter()]
    await store(votesIn(voterA, inside(tunnel), 5, none), votesIn(voterB, inside(tunnel), 95))
    const both = await api.newKey([a.organization.id, b.organization.id], 'viewer')
    expect((await deadZones(both)).body.items).toEqual([])
    expect((await deadZones(both, `orgId=${a.organization.id}`)).body.items).toMatchObject([{ samples: 5 }])
    expect((await deadZones(stranger.organization.key)).body.items).toEqual([])
  })

  test('200 excludes votes from before a device was transferred to the organization', async () => {
    const { organization, newVoter } = await fleet()
    const buyer = await api.newOrganization()
    const voter = await newVoter()
    const both = await api.newKey([organization.id, buyer.id], ['device:transfer', 'device:read'])
    const path = `/devices/${voter.deviceId}/transfer`
    expect(await api.call('POST', path, { token: both, json: { toOrgId: buyer.id } })).toMatchObject({ status: 200 })
    await store(votesIn({ ...voter, organizationId: buyer.id }, inside(tunnel), 9, none))
    expect((await deadZones(buyer.key)).body.items).toEqual([])
  })

  test('200 counts the votes of each interval in which the organization owned the device', async () => {
    const [first, second, third] = [await fleet(), await fleet(), await fleet()]
    const ids = [first, second, third].map(({ organization }) => organization.id)
    const [soldMs, soldAgainMs] = [20, 10].map((hours) => Date.now() - hours * 3_600_000) as [number, number]
    const [one = '', two = '', three = ''] = ids
    /** Votes that each organization received, and that were measured before, between and after the two transfers. */
    const voted = (organizationId: string, deviceId: string, counts: [number, number, number]) =>
      [soldMs - 600_000, soldAgainMs - 600_000, Date.now() - 600_000].flatMap((newestMs, interval) =>
        votesIn({ organizationId, deviceId }, inside(tunnel), counts[interval] ?? 0, none, newestMs),
      )
    const { pool } = api.services
    const [passedOn, returned] = [await registerDevice(pool, one), await registerDevice(pool, one)]
    for (const [deviceId, last] of [[passedOn, three] as const, [returned, one] as const]) {
      await transferDevice(pool, deviceId, two, soldMs)
      await transferDevice(pool, deviceId, last, soldAgainMs)
    }
    // Those from outside of the owner's intervals were buffered under another owner.
    await store(
      voted(one, passedOn, [5, 0, 0]),
      voted(two, passedOn, [30, 6, 0]),
      voted(three, passedOn, [0, 40, 7]),
      voted(one, returned, [8, 50, 9]),
      voted(two, returned, [25, 10, 0]),
    )
    for (const [{ organization }, samples] of [
      [first, 5 + 8 + 9] as const,
      [second, 6 + 10] as const,
      [third, 7] as const,
    ]) {
      expect((await deadZones(organization.key, 'sinceMinutes=2880')).body.items).toMatchObject([{ samples }])
      const path = '/fleet/coverage?h3Resolution=9&sinceMinutes=2880'
      const coverage = await api.call('GET', path, { token: organization.key })
      expect(coverage.body.items).toMatchObject([{ h3: tunnel, samples }])
    }
  })

  test('200 limits the window to the plan', async () => {
    const { organization } = await fleet('pro')
    const { body } = await deadZones(organization.key, 'sinceMinutes=129600')
    expect(body.window.limitedBy).toBe('plan')
    expect(Date.parse(body.window.to) - Date.parse(body.window.from)).toBeLessThan(31 * 86_400_000)
  })

  test('400 for wrong parameters and a cursor of other filters', async () => {
    const { organization, newVoter } = await fleet()
    const voter = await newVoter()
    await store(...[41, 42].map((lat) => votesIn(voter, inside(latLngToCell(lat, -4, 9)), 5, none)))
    const { nextCursor } = (await deadZones(organization.key, 'limit=1')).body
    for (const query of [
      ...['bbox=1,2,3', 'limit=0', 'limit=201', 'sinceMinutes=0', 'plmn=abc', 'zoneId=1', 'rat=lte', 'cursor=nonsense'],
      `limit=1&plmn=27201&cursor=${encodeURIComponent(nextCursor)}`,
    ]) {
      expect(await deadZones(organization.key, query)).toMatchObject({ status: 400 })
    }
  })

  test('403 without the scope and on a plan without coverage; 404 for a foreign organization', async () => {
    const { organization } = await fleet()
    const weak = await api.newKey([organization.id], ['device:read'])
    expect(await deadZones(weak, `orgId=${organization.id}`)).toMatchObject({
      ...{ status: 403, body: { code: 'insufficient_scope' } },
    })
    const free = await fleet('free')
    expect(await deadZones(free.organization.key)).toMatchObject({ status: 403, body: { code: 'plan_feature' } })
    expect(await deadZones(organization.key, `orgId=${free.organization.id}`)).toMatchObject({ status: 404 })
    expect(cellToParent(inside(tunnel), 9)).toBe(tunnel)
  })
})

describe('GET /fleet/signal-trend', () => {
  const hourMs = 3_600_000
  const [near, farther] = [inside(tunnel), inside(far)]

  test('200 returns the signal by hour and by operator, the worst operator first', async () => {
    const { organization, newVoter } = await fleet()
    const [one, two] = [await newVoter(), await newVoter(['truck'])]
    const nowMs = Date.now()
    const laterMs = Math.floor(nowMs / hourMs) * hourMs - 1
    const earlierMs = laterMs - 5 * hourMs
    await store(
      votesIn(one, near, 6, { rsrpDbm: -80, plmn: '27202' }, laterMs),
      votesIn(two, farther, 3, { rsrpDbm: -110 }, laterMs),
      votesIn(two, farther, 9, { rsrpDbm: -100 }, earlierMs),
      votesIn(two, near, 2, none, earlierMs),
    )
    const { status, body } = await signalTrend(organization.key)
    expect(status).toBe(200)
    expect(body).toMatchObject({ asOf: expect.any(String), window: { limitedBy: null }, stepS: 3_600 })
    const hourOf = (ms: number) => new Date(Math.floor(ms / hourMs) * hourMs).toISOString()
    const classes = { none: 0, poor: 0, fair: 0, good: 0, excellent: 0, unknown: 0 }
    expect(body.steps).toMatchObject([
      {
        ...{ from: hourOf(earlierMs), samples: 11, serviceRatio: 9 / 11, noServiceS: 120 },
        ...{ rsrpDbm: { p10: -100, p50: -100, p90: -100 }, byQuality: { ...classes, none: 2, fair: 9 } },
      },
      {
        ...{ from: hourOf(laterMs), samples: 9, serviceRatio: 1, rsrpDbm: { p10: -110, p50: -80, p90: -80 } },
        byQuality: { ...classes, poor: 3, excellent: 6 },
      },
    ])
    expect(body.operators).toMatchObject([
      { plmn: '27201', samples: 14, byQuality: { ...classes, none: 2, poor: 3, fair: 9 } },
      { plmn: '27202', samples: 6, serviceRatio: 1 },
    ])
    const trucks = (await signalTrend(organization.key, 'tag=truck')).body
    expect(trucks.steps.map(({ samples }: { samples: number }) => samples)).toEqual([11, 3])
    const long = (await signalTrend(organization.key, `sinceMinutes=43200&orgId=${organization.id}`)).body
    expect([long.stepS, long.steps.length <= 2]).toEqual([86_400, true])
    const sum = long.steps.reduce((all: number, { samples }: { samples: number }) => all + samples, 0)
    expect(sum).toBe(20)
  })

  test('200 merges the caller’s organizations, and returns nothing of others', async () => {
    const [a, b, stranger] = [await fleet(), await fleet(), await fleet()]
    await store(votesIn(await a.newVoter(), near, 5), votesIn(await b.newVoter(), near, 7))
    const samplesFor = async (key: string) =>
      (await signalTrend(key)).body.operators.map(({ samples }: { samples: number }) => samples)
    expect(await samplesFor(await api.newKey([a.organization.id, b.organization.id], 'viewer'))).toEqual([12])
    expect(await samplesFor(stranger.organization.key)).toEqual([])
  })

  test('400 for wrong parameters; 403 without the scope and on a plan without coverage; 404 for a foreign organization', async () => {
    const [{ organization }, free] = [await fleet(), await fleet('free')]
    for (const query of ['sinceMinutes=0', 'plmn=abc', 'rat=5g', 'bbox=1,2,3,4'])
      expect(await signalTrend(organization.key, query)).toMatchObject({ status: 400 })
    const weak = await api.newKey([organization.id], ['device:read'])
    expect(await signalTrend(weak, `orgId=${organization.id}`)).toMatchObject({ status: 403 })
    expect(await signalTrend(free.organization.key)).toMatchObject({ status: 403, body: { code: 'plan_feature' } })
    expect(await signalTrend(organization.key, `orgId=${free.organization.id}`)).toMatchObject({ status: 404 })
  })
})
