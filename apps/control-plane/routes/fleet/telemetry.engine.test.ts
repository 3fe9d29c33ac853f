import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { scopes } from '#fleet/access/scopes'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { deleteDevice, registerDevice, transferDevice } from '#test/registered-device'
import { type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const read = (token: string, deviceId: string, path: string) =>
  api.call('GET', `/api/router/${deviceId}/telemetry/${path}`, { token })

async function organizationWithDevice(plan = 'enterprise') {
  const organization = await api.newOrganization({ plan })
  const deviceId = await registerDevice(api.services.pool, organization.id)
  const row = (agoMs: number, fields: Record<string, unknown> = {}): StoredRow => ({
    tsMs: Date.now() - agoMs,
    deviceId,
    organizationId: organization.id,
    ...fields,
  })
  return { organization, deviceId, row }
}

const store = (...[table, rows]: [Parameters<typeof storeRows>[1], StoredRow[]]) => storeRows(api.questdb, table, rows)

describe('GET /api/router/:deviceId/telemetry/latest', () => {
  test('200 with nulls for a device that never reported', async () => {
    const { organization, deviceId } = await organizationWithDevice()
    expect(await read(organization.key, deviceId, 'latest')).toMatchObject({
      status: 200,
      body: { deviceId, asOf: expect.any(String), connection: null, cellular: null, system: null, location: null },
    })
  })

  test('200 returns the newest sample of each kind by sample time, and the newest usable fix', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const fresh = row(2 * minuteMs, { rat: 'lte', rsrpDbm: -101, sinrDb: 4, alignedLat: 51.5, alignedLon: -8.4 })
    await store('cellular', [fresh, { ...row(5 * minuteMs, { rat: 'gsm' }), receivedAtMs: Date.now() }])
    await store('location', [
      row(minuteMs, { lat: 0, lon: 0, usable: false }),
      row(3 * minuteMs, { lat: 51, lon: -8, usable: true }),
    ])
    const { body } = await read(organization.key, deviceId, 'latest')
    expect(body.cellular).toMatchObject({
      ts: new Date(fresh.tsMs).toISOString(),
      receivedAt: new Date(fresh.tsMs).toISOString(),
      rat: 'lte',
      rsrpDbm: -101,
      rsrqDb: null,
      lat: 51.5,
      quality: 'fair',
      qualityBasis: 'rsrpDbm',
    })
    expect(body.cellular.ageMs).toBeGreaterThanOrEqual(2 * minuteMs)
    expect(body.location).toMatchObject({ lat: 51, lon: -8, usable: true })
    expect(body.system).toBeNull()
  })

  test('200 returns the samples of the active modem, and of each modem of the last day', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const connection = (agoMs: number, modem: string, state: string) =>
      row(agoMs, { modem, interface: modem, state, latencyMs: agoMs / 1_000 })
    const latest = async () => (await read(organization.key, deviceId, 'latest')).body
    await store('cellular', [
      row(30 * hourMs, { modem: 'old', rat: 'lte' }),
      row(2 * minuteMs, { rat: 'lte', rsrpDbm: -90 }),
    ])
    expect((await latest()).modems).toMatchObject([{ modem: null, isActive: true, cellular: { rsrpDbm: -90 } }])

    // Without a connection, the modem with the newest service is active.
    await store('cellular', [
      row(minuteMs, { modem: 'a', rat: 'none' }),
      row(90_000, { modem: 'b', rat: 'lte', rsrpDbm: -101 }),
      row(100_000, { modem: 'c', rat: 'lte', rsrpDbm: -102 }),
    ])
    expect(await latest()).toMatchObject({ cellular: { modem: 'b', rsrpDbm: -101 }, connection: null })
    // The one that was connected last is active.
    await store('connection', [
      connection(4 * minuteMs, 'c', 'connected'),
      connection(5 * minuteMs, 'b', 'connected'),
      connection(3 * minuteMs, 'b', 'disconnected'),
    ])
    const body = await latest()
    expect(body).toMatchObject({
      cellular: { modem: 'c', rsrpDbm: -102 },
      connection: { modem: 'c', state: 'connected', simPlmn: null },
      modems: [
        { modem: null, isActive: false, cellular: { rsrpDbm: -90 }, connection: null },
        { modem: 'a', isActive: false, cellular: { rat: 'none' } },
        { modem: 'b', isActive: false, connection: { state: 'disconnected', simPlmn: null } },
        { modem: 'c', isActive: true, cellular: { rsrpDbm: -102 } },
      ],
    })
  })

  test('200 returns the signal of a named modem beside a connection without a name, such as a cable', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store('cellular', [row(2 * minuteMs, { modem: 'a', rat: 'lte', rsrpDbm: -101 })])
    await store('connection', [row(minuteMs, { interface: 'eth0', state: 'connected' })])
    expect((await read(organization.key, deviceId, 'latest')).body).toMatchObject({
      cellular: { modem: 'a', rsrpDbm: -101 },
      connection: { modem: null, interface: 'eth0' },
      modems: [
        { modem: null, isActive: false },
        { modem: 'a', isActive: true },
      ],
    })
  })

  test('200 returns the named modems when the newest samples do not name theirs, as the map shows them', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store('cellular', [
      row(minuteMs, { modem: 'a', rat: 'lte', rsrpDbm: -101 }),
      row(2 * minuteMs, { modem: 'b', rat: 'lte', rsrpDbm: -102 }),
      row(10_000, { rat: 'none' }),
    ])
    await store('connection', [
      row(minuteMs, { modem: 'b', interface: 'wwan1', state: 'connected' }),
      row(5_000, { interface: 'eth0', state: 'connected' }),
    ])
    const shown = {
      cellular: { modem: 'b', rsrpDbm: -102 },
      connection: { modem: 'b', interface: 'wwan1' },
      modems: [
        { modem: null, isActive: false, cellular: { rat: 'none' }, connection: { interface: 'eth0' } },
        { modem: 'a', isActive: false, cellular: { rsrpDbm: -101 } },
        { modem: 'b', isActive: true, cellular: { rsrpDbm: -102 } },
      ],
    }
    expect((await read(organization.key, deviceId, 'latest')).body).toMatchObject(shown)
    const map = await api.call('GET', `/fleet/gps?deviceId=${deviceId}&include=devices`, { token: organization.key })
    const [device] = map.body.devices
    expect(device?.signal.modem).toBe('b')
  })

  test.each([[undefined], ['a']])(
    '200 returns the connected one of interfaces with one time, modem %s',
    async (modem) => {
      const { organization, deviceId, row } = await organizationWithDevice()
      const { tsMs } = row(minuteMs)
      const states = ['disconnected', 'failed', 'disconnected', 'disabled', 'connected', 'connected', 'failed']
      const samples = states.map((state, index) => ({ ...row(0, { modem, state, interface: `wan${index}` }), tsMs }))
      await store('connection', [...samples, row(2 * minuteMs, { modem, interface: 'wan4', latencyMs: 40 })])
      const { connection } = (await read(organization.key, deviceId, 'latest')).body
      expect(connection).toMatchObject({ interface: 'wan4', state: 'connected', latencyMs: 40 })
    },
  )

  test('a sample in a dwell of several days has the age of its fix, as documented', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const fixAgeMs = 4 * 24 * hourMs
    await store('cellular', [row(minuteMs, { rat: 'lte', alignment: 'dwell', alignedFixAgeMs: fixAgeMs })])
    const { body } = await read(organization.key, deviceId, 'latest')
    // The call also fails if the answer differs from the documented one.
    expect(body.cellular).toMatchObject({ alignment: 'dwell', fixAgeMs })
  })

  test('200 completes a sample by field, from up to two minutes before and of the same cell', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const newestMs = 10_000
    const cell = { rat: 'lte', plmn: '26201', cellId: '100' }
    await store('cellular', [
      row(newestMs, { rssiDbm: -70, alignedLat: 1, alignedLon: 2 }),
      row(newestMs + 1_000, { rat: 'lte' }),
      row(newestMs + 5_000, { ...cell, rsrpDbm: -100, sinrDb: 3, rssiDbm: -60, operatorName: 'A' }),
      row(newestMs + 60_000, { ...cell, cellId: '99', rsrqDb: -9 }),
      row(newestMs + 61_000, { ...cell, band: 'B3' }),
    ])
    await store('connection', [
      row(newestMs, { rxBytes: 5 }),
      row(newestMs + 119_000, { state: 'connected', rat: 'lte' }),
      row(newestMs + 121_000, { apn: 'old' }),
    ])
    await store('system', [row(newestMs, { cpuPct: 3 }), row(newestMs + 2 * minuteMs + 1_000, { uptimeS: 5 })])
    await store('location', [
      row(newestMs, { lat: 51, lon: -8, usable: true }),
      row(newestMs + 1_000, { lat: 51, lon: -8, usable: true, speedMps: 4, accuracyM: 3 }),
      row(newestMs + 2_000, { lat: 0, lon: 0, usable: false, altitudeM: 9 }),
    ])
    const { body } = await read(organization.key, deviceId, 'latest')
    const agoOf = ({ ts, completedFrom }: { ts: string; completedFrom: string }) =>
      Math.round((Date.parse(ts) - Date.parse(completedFrom)) / 1_000)
    expect(body.cellular).toMatchObject({
      ...{ ...cell, rsrpDbm: -100, sinrDb: 3, rssiDbm: -70, operatorName: 'A', lat: 1, lon: 2 },
      // The cell before was another one.
      ...{ rsrqDb: null, band: null, quality: 'fair', qualityBasis: 'rsrpDbm' },
    })
    expect(agoOf(body.cellular)).toBe(5)
    expect(body.connection).toMatchObject({ rxBytes: 5, state: 'connected', rat: 'lte', apn: null })
    expect(body.system).toMatchObject({ cpuPct: 3, uptimeS: null, completedFrom: null })
    expect(body.location).toMatchObject({ speedMps: 4, accuracyM: null, altitudeM: null })
    expect(agoOf(body.location)).toBe(1)
  })

  test('200 completes the sample of a router that reports several times a second', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const rows = Array.from({ length: 600 }, (_, index) => row(10_000 + index * 200, { rsrpDbm: -90 }))
    await store('cellular', [...rows, row(10_000 + 119_000 + 50, { band: 'B7' }), row(10_000 + 30_050, { rat: 'lte' })])
    const { body } = await read(organization.key, deviceId, 'latest')
    expect(body.cellular).toMatchObject({ rsrpDbm: -90, rat: 'lte', band: 'B7' })
  })

  test('200 returns samples from weeks ago', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store('system', [row(40 * 24 * hourMs, { cpuPct: 3 })])
    expect((await read(organization.key, deviceId, 'latest')).body.system).toMatchObject({ cpuPct: 3 })
  })

  test('200 masks identities without device:sensitive', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store('connection', [
      row(minuteMs, { imsi: '272011234567890', iccid: '8935301140701234567', wanIp: '10.1.2.3' }),
    ])
    const viewer = await api.newKey([organization.id], 'viewer')
    const seen = { imsi: '272011234567890', iccid: '8935301140701234567', wanIp: '10.1.2.3' }
    expect((await read(organization.key, deviceId, 'latest')).body.connection).toMatchObject(seen)
    const masked = { imsi: '***********7890', iccid: '***************4567', wanIp: null }
    expect((await read(viewer, deviceId, 'latest')).body.connection).toMatchObject(masked)
    expect((await read(viewer, deviceId, 'history?kind=connection')).body.items[0]).toMatchObject(masked)
  })

  test('404 for another organization’s device, an unknown or malformed id, and another model segment', async () => {
    const { deviceId, organization } = await organizationWithDevice()
    const stranger = await api.newOrganization()
    for (const id of [deviceId, newId(), 'nonsense']) {
      const answer = await read(stranger.key, id, 'latest')
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', detail: `No such device: ${id}.` } })
    }
    const path = `/api/teapot/${deviceId}/telemetry/latest`
    expect(await api.call('GET', path, { token: organization.key })).toMatchObject({ status: 404 })
  })

  test('403 without telemetry:read, 401 without credentials', async () => {
    const { deviceId, organization } = await organizationWithDevice()
    const key = await api.newKey([organization.id], ['device:read'])
    expect(await read(key, deviceId, 'latest')).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
    expect(await api.call('GET', `/api/router/${deviceId}/telemetry/latest`)).toMatchObject({ status: 401 })
  })
})

describe('GET /api/router/:deviceId/telemetry/history', () => {
  test('200 lists newest first, equal times by kind, in pages without repeated or skipped items', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const times = Array.from({ length: 7 }, (_, index) => Date.now() - (index + 1) * minuteMs)
    for (const kind of ['connection', 'cellular', 'system', 'location'] as const) {
      await store(
        kind,
        times.map((tsMs) => ({ ...row(0), tsMs, usable: true })),
      )
    }
    const whole = (await read(organization.key, deviceId, 'history?sinceMinutes=60')).body
    expect(whole).toMatchObject({ deviceId, nextCursor: null, window: { requestedMinutes: 60, limitedBy: null } })
    expect(whole.items.map((item: StoredRow) => [Date.parse(String(item.ts)), item.kind])).toEqual(
      times.flatMap((tsMs) => ['cellular', 'connection', 'location', 'system'].map((kind) => [tsMs, kind])),
    )
    const paged: unknown[] = []
    let cursor: string | null = ''
    for (let limit = 3; cursor !== null; limit = limit === 3 ? 5 : 3) {
      const page = await read(
        organization.key,
        deviceId,
        `history?sinceMinutes=60&limit=${limit}${cursor && `&cursor=${cursor}`}`,
      )
      paged.push(...page.body.items)
      cursor = page.body.nextCursor
      expect(page.headers.get('link') === null).toBe(cursor === null)
    }
    expect(paged).toEqual(whole.items)
  })

  test('200 filters by kind, from (inclusive) and to (exclusive)', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const rows = [1, 2, 3, 4].map((minutes) => row(minutes * minuteMs, { cpuPct: minutes }))
    await store('system', rows)
    await store('connection', [row(2 * minuteMs)])
    const at = (index: number) => new Date(rows[index]?.tsMs ?? 0).toISOString()
    const { body } = await read(organization.key, deviceId, `history?kind=system&from=${at(2)}&to=${at(0)}`)
    expect(body.items.map((item: { cpuPct: number }) => item.cpuPct)).toEqual([2, 3])
    expect(body.window).toEqual({ from: at(2), to: at(0), requestedMinutes: 2, limitedBy: null })
  })

  test('200 limits the window to the plan and returns limitedBy', async () => {
    const { organization, deviceId, row } = await organizationWithDevice('free')
    await store('system', [row(hourMs), row(30 * hourMs)])
    const { body } = await read(organization.key, deviceId, 'history?sinceMinutes=4320')
    expect(body.items).toHaveLength(1)
    expect(body.window).toMatchObject({ requestedMinutes: 4320, limitedBy: 'plan' })
    expect(Date.now() - Date.parse(body.window.from)).toBeLessThan(24 * hourMs + minuteMs)
  })

  test('200 after a transfer: each owner reads its own interval; no owner reads samples buffered before', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const buyer = await api.newOrganization()
    const both = await api.newKey([organization.id, buyer.id], scopes)
    const soldMs = Date.now() - hourMs
    await transferDevice(api.services.pool, deviceId, buyer.id, soldMs)
    await store('system', [
      row(90 * minuteMs, { cpuPct: 1 }),
      { ...row(80 * minuteMs, { cpuPct: 2 }), organizationId: buyer.id },
      { ...row(30 * minuteMs, { cpuPct: 3 }), organizationId: buyer.id },
    ])
    const seen = async (key: string) => {
      const { status, body } = await read(key, deviceId, 'history?sinceMinutes=120')
      return [status, body.items.map((item: { cpuPct: number }) => item.cpuPct)]
    }
    expect(await seen(organization.key)).toEqual([200, [1]])
    expect(await seen(buyer.key)).toEqual([200, [3]])
    expect(await seen(both)).toEqual([200, [3, 1]])
    expect((await read(organization.key, deviceId, 'latest')).body.system).toMatchObject({ cpuPct: 1 })
    await deleteDevice(api.services.pool, deviceId)
    expect(await read(buyer.key, deviceId, 'history')).toMatchObject({ status: 404 })
    expect(await read(organization.key, deviceId, 'latest')).toMatchObject({ status: 404 })
  })

  test('200 with stepSeconds gives minimum, mean and maximum per step', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const startMs = Math.floor(Date.now() / hourMs) * hourMs - hourMs
    const sample = (offsetS: number, rsrpDbm: number | null) => ({
      ...row(0, { rsrpDbm }),
      tsMs: startMs + offsetS * 1000,
    })
    await store('cellular', [sample(0, -100), sample(30, -90), sample(59, null), sample(60, -80)])
    const query = `history?kind=cellular&stepSeconds=60&sinceMinutes=180`
    const { body } = await read(organization.key, deviceId, query)
    const step = (offsetS: number, samples: number, rsrpDbm: unknown) => ({
      ts: new Date(startMs + offsetS * 1000).toISOString(),
      kind: 'cellular',
      samples,
      fields: { rsrpDbm },
    })
    expect(body.items).toEqual([
      step(60, 1, { min: -80, mean: -80, max: -80 }),
      step(0, 3, { min: -100, mean: -95, max: -90 }),
    ])
    const first = (await read(organization.key, deviceId, `${query}&limit=1`)).body
    expect(first.items).toEqual(body.items.slice(0, 1))
    expect((await read(organization.key, deviceId, `${query}&limit=1&cursor=${first.nextCursor}`)).body.items).toEqual(
      body.items.slice(1),
    )
  })

  test('200 with stepSeconds reads little more than the page, and finds steps weeks apart', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const daysAgo = [0.01, 0.02, 20, 20.5, 60]
    await store(
      'system',
      daysAgo.map((days) => row(days * 24 * hourMs, { cpuPct: days })),
    )
    const query = 'history?kind=system&stepSeconds=60&sinceMinutes=129600'
    const found = (await read(organization.key, deviceId, query)).body.items
    expect(found.map((item: { fields: { cpuPct: { mean: number } } }) => item.fields.cpuPct.mean)).toEqual(daysAgo)

    const { questdb } = api
    const { queryArrays } = questdb
    const spans: number[] = []
    questdb.queryArrays = (text, values, signal) => {
      if (text.includes('timestamp_floor'))
        spans.push(Date.parse(String(values?.[2])) - Date.parse(String(values?.[1])))
      return queryArrays(text, values, signal)
    }
    const page = await read(organization.key, deviceId, `${query}&limit=1`)
    questdb.queryArrays = queryArrays
    expect(page.body.items).toEqual(found.slice(0, 1))
    expect(spans.reduce((sum, span) => sum + span, 0)).toBeLessThan(24 * hourMs)
  })

  test('200 streams the whole window as NDJSON and CSV', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store(
      'system',
      Array.from({ length: 2_500 }, (_, index) =>
        row(1_000 * (index + 60), { cpuPct: index % 100, fault: 'a "b", c' }),
      ),
    )
    const headers = { authorization: `Bearer ${organization.key}` }
    const path = `/api/router/${deviceId}/telemetry/history?sinceMinutes=120&kind=system`
    const ndjson = await api.fetch(`${path}&format=ndjson`, { headers })
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = (await ndjson.text()).trimEnd().split('\n')
    expect(new Set(lines.map((line) => JSON.parse(line).ts)).size).toBe(2_500)
    const csv = await (await api.fetch(`${path}&format=csv&limit=2`, { headers })).text()
    const [header, first, second, end] = csv.split('\r\n')
    expect(header).toMatch(/^ts,kind,tsCorrected,cpuPct,/)
    expect(first?.slice(0, 24)).toBe(JSON.parse(lines[0] ?? '').ts)
    expect(second).toMatch(/,"a ""b"", c"$/)
    expect(end).toBe('')
  })

  test.each([
    'sinceMinutes=0',
    'sinceMinutes=129601',
    'sinceMinutes=1.5',
    'limit=0',
    'limit=10001',
    'kind=gps',
    'from=yesterday',
    'from=2026-01-01T00:00:00Z&to=2025-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&sinceMinutes=5',
    'stepSeconds=0',
    'format=xml',
    'cursor=AAAA',
    'sinceMinute=5',
  ])('400 for %s', async (query) => {
    const { organization, deviceId } = await organizationWithDevice()
    expect(await read(organization.key, deviceId, `history?${query}`)).toMatchObject({ status: 400 })
  })

  test('400 for a cursor of another device', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    await store('system', [row(minuteMs), row(2 * minuteMs)])
    const { nextCursor } = (await read(organization.key, deviceId, 'history?limit=1')).body
    const other = await registerDevice(api.services.pool, organization.id)
    expect(await read(organization.key, other, `history?cursor=${nextCursor}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    })
  })
})

describe('GET /api/router/:deviceId/telemetry/data-use', () => {
  const mega = 1_000_000
  test('200 returns what each modem and interface received and sent in the window', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const uplink = (
      modem: string | null,
      name: string | null,
      ...counters: [agoMinutes: number, rx?: number | undefined, tx?: number][]
    ) =>
      store(
        'connection',
        counters.map(([ago, rx, tx]) =>
          row(ago * minuteMs, {
            ...{ modem, interface: name },
            rxBytes: rx === undefined ? null : rx * mega,
            txBytes: tx === undefined ? null : tx * mega,
          }),
        ),
      )
    // The sample before the window is less than an hour older, that of wwan1 is older.
    await uplink('wwan0', 'wan', [70, 5, 1], [50, 15, 2], [40, 1_000, 3], [30, 4, 4])
    await uplink('wwan0', 'lan', [50, 900, 0], [30, 1_000, 0])
    await uplink('wwan1', 'wan', [150, 100, 0], [50, 4_290, 0], [40, 2, 1], [20], [10, 3, 1])
    await uplink(null, null, [20, undefined, 7], [10, undefined, 8])
    await uplink('silent', null, [20], [10])
    const { status, body } = await read(organization.key, deviceId, 'data-use?sinceMinutes=60')
    expect(status).toBe(200)
    expect(body).toMatchObject({ deviceId, window: { requestedMinutes: 60, limitedBy: null } })
    expect(body.items).toEqual([
      { modem: null, interface: null, rxBytes: null, txBytes: mega },
      { modem: 'wwan0', interface: 'lan', rxBytes: 100 * mega, txBytes: 0 },
      { modem: 'wwan0', interface: 'wan', rxBytes: (10 + 985 + 4) * mega, txBytes: 3 * mega },
      // The counter has wrapped at 2^32.
      { modem: 'wwan1', interface: 'wan', rxBytes: 2 ** 32 - 4_290 * mega + 3 * mega, txBytes: mega },
    ])
    const [from, to] = [45, 25].map((agoMinutes) => new Date(Date.now() - agoMinutes * minuteMs).toISOString())
    const past = await read(organization.key, deviceId, `data-use?from=${from}&to=${to}`)
    expect(past.body.items).toContainEqual({ modem: 'wwan0', interface: 'wan', rxBytes: 989 * mega, txBytes: 2 * mega })
    expect((await read(organization.key, deviceId, 'data-use')).body.window.requestedMinutes).toBe(1_440)
  })

  test('200 counts for each owner what the device used while it had it, within the plan', async () => {
    const { organization, deviceId, row } = await organizationWithDevice('free')
    const buyer = await api.newOrganization()
    const both = await api.newKey([organization.id, buyer.id], scopes)
    await transferDevice(api.services.pool, deviceId, buyer.id, Date.now() - hourMs)
    const count = (agoMinutes: number, rxBytes: number) => ({ ...row(agoMinutes * minuteMs, { rxBytes }) })
    const bought = (agoMinutes: number, rxBytes: number) => ({
      ...count(agoMinutes, rxBytes),
      organizationId: buyer.id,
    })
    await store('connection', [count(1_500, 1), count(90, 100), count(80, 130), bought(50, 1_000), bought(40, 1_200)])
    const used = async (key: string) => {
      const { window, items } = (await read(key, deviceId, 'data-use?sinceMinutes=2880')).body
      return [window.limitedBy, items.map(({ rxBytes }: { rxBytes: number }) => rxBytes)]
    }
    expect(await used(organization.key)).toEqual(['plan', [30]])
    expect(await used(buyer.key)).toEqual([null, [200]])
    expect(await used(both)).toEqual([null, [230]])
  })

  test('400 for an invalid window, 401, 403 and 404 as for the other reads', async () => {
    const { organization, deviceId } = await organizationWithDevice()
    const stranger = await api.newOrganization()
    const unread = await api.newKey([organization.id], ['device:read'])
    for (const query of ['sinceMinutes=0', 'sinceMinutes=5&from=2026-01-01T00:00:00Z', 'limit=5'])
      expect(await read(organization.key, deviceId, `data-use?${query}`)).toMatchObject({ status: 400 })
    const path = `router/${deviceId}/telemetry/data-use`
    expect(await api.call('GET', `/api/${path}`)).toMatchObject({ status: 401 })
    expect(await read(unread, deviceId, 'data-use')).toMatchObject({ status: 403 })
    expect(await read(stranger.key, deviceId, 'data-use')).toMatchObject({ status: 404 })
    expect(
      await api.call('GET', `/api/teapot/${deviceId}/telemetry/data-use`, { token: organization.key }),
    ).toMatchObject({
      status: 404,
    })
  })
})

describe('GET /api/router/:deviceId/telemetry/outages', () => {
  test('200 returns when each modem had no service, near which town, newest first', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const at = (agoMinutes: number, modem: string | null, rat: string, lat: number | null = null) =>
      row(agoMinutes * minuteMs, { modem, rat, alignedLat: lat, alignedLon: lat === null ? null : 5.91 })
    await store('cellular', [
      // Near Arnhem. The outage has no position of its own and ends with service.
      ...[
        at(100, 'wwan0', 'lte', 51.98),
        at(98, 'wwan0', 'none'),
        at(96, 'wwan0', 'none', 52.5),
        at(95, 'wwan0', 'lte'),
      ],
      // A silence of more than five minutes ends one, and another begins.
      ...[at(80, 'wwan0', 'none', 52), at(76, 'wwan0', 'none'), at(60, 'wwan0', 'none'), at(59, 'wwan0', 'lte')],
      // One sample alone before a silence is no time.
      ...[at(40, 'wwan0', 'none'), at(20, 'wwan0', 'lte')],
      ...[at(98, 'wwan1', 'lte'), at(97, 'wwan1', 'none'), at(94, 'wwan1', 'none')],
    ])
    const { status, body } = await read(organization.key, deviceId, 'outages?sinceMinutes=120')
    expect(status).toBe(200)
    expect(body).toMatchObject({ deviceId, window: { requestedMinutes: 120, limitedBy: null } })
    expect(body.items).toMatchObject([
      { modem: 'wwan0', durationS: 60, location: { lat: 52, lon: 5.91 } },
      { modem: 'wwan0', durationS: 240, location: { lat: 52, lon: 5.91 } },
      { modem: 'wwan1', durationS: 180, location: null, near: null },
      { modem: 'wwan0', durationS: 180, location: { lat: 51.98 }, near: { name: 'Arnhem', country: 'NL' } },
    ])
    const times = body.items.map(({ from, to }: { from: string; to: string }) => Date.parse(to) - Date.parse(from))
    expect(times).toEqual([minuteMs, 4 * minuteMs, 3 * minuteMs, 3 * minuteMs])
    const agoOf = ({ from, to }: { from: string; to: string }) =>
      [from, to].map((time) => Math.round((Date.now() - Date.parse(time)) / minuteMs))
    // wwan1 had no service either, and did not report later.
    expect(body.ofDevice.map(agoOf)).toEqual([
      [60, 59],
      [80, 76],
      [97, 94],
    ])
    const own = (await read(organization.key, deviceId, 'outages?sinceMinutes=120&modem=wwan1')).body
    expect(own.items).toMatchObject([{ modem: 'wwan1', durationS: 180 }])
    expect(own.ofDevice).toEqual(body.ofDevice)
    expect((await read(organization.key, deviceId, 'outages?sinceMinutes=10')).body.items).toEqual([])
  })

  test('200 for a device without samples; 400, 401, 403 and 404 as for the other reads', async () => {
    const { organization, deviceId } = await organizationWithDevice()
    const stranger = await api.newOrganization()
    const unread = await api.newKey([organization.id], ['device:read'])
    expect(await read(organization.key, deviceId, 'outages')).toMatchObject({
      status: 200,
      body: { window: { requestedMinutes: 1_440 }, items: [], ofDevice: [] },
    })
    for (const query of ['sinceMinutes=0', 'modem=', 'limit=5'])
      expect(await read(organization.key, deviceId, `outages?${query}`)).toMatchObject({ status: 400 })
    expect(await api.call('GET', `/api/router/${deviceId}/telemetry/outages`)).toMatchObject({ status: 401 })
    expect(await read(unread, deviceId, 'outages')).toMatchObject({ status: 403 })
    expect(await read(stranger.key, deviceId, 'outages')).toMatchObject({ status: 404 })
  })
})

test('history returns every sample of one millisecond over pages of any size, and those of one modem', async () => {
  const { organization, deviceId, row } = await organizationWithDevice()
  const base = row(minuteMs)
  const at = (secondsBefore: number, fields: Record<string, unknown>): StoredRow => ({
    ...base,
    tsMs: base.tsMs - secondsBefore * 1_000,
    ...fields,
  })
  const modems = ['wwan1', null, 'wwan0']
  await store(
    'cellular',
    [0, 1, 2].flatMap((second) => modems.map((modem) => at(second, { modem, rsrpDbm: -90 }))),
  )
  await store(
    'connection',
    [0, 1].flatMap((second) => ['lan', 'wan'].map((uplink) => at(second, { modem: 'wwan0', interface: uplink }))),
  )
  type Item = { kind: string; ts: string; modem: string | null; interface?: string }
  const nameOf = ({ kind, ts, modem, interface: uplink }: Item) =>
    [(base.tsMs - Date.parse(ts)) / 1_000, kind, modem, uplink].join(' ')
  const all = (await read(organization.key, deviceId, 'history')).body.items.map(nameOf)
  expect(all).toHaveLength(13)
  expect(new Set(all).size).toBe(13)
  for (const limit of [1, 2, 4]) {
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await read(organization.key, deviceId, `history?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      found.push(...body.items.map(nameOf))
      cursor = body.nextCursor
    }
    expect(found).toEqual(all)
  }
  const ofModem = (await read(organization.key, deviceId, 'history?modem=wwan0')).body.items
  expect(ofModem.map(({ kind }: Item) => kind).sort()).toEqual([
    ...Array(3).fill('cellular'),
    ...Array(4).fill('connection'),
  ])
  const path = `/api/router/${deviceId}/telemetry/history?kind=cellular&modem=wwan1&format=csv`
  const csv = await (await api.fetch(path, { headers: { authorization: `Bearer ${organization.key}` } })).text()
  expect(csv.split('\r\n')[0]).toContain(',modem,')
  expect(csv.trim().split('\r\n')).toHaveLength(4)
})
