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

  test('a sample in a dwell of several days has the age of its fix, as documented', async () => {
    const { organization, deviceId, row } = await organizationWithDevice()
    const fixAgeMs = 4 * 24 * hourMs
    await store('cellular', [row(minuteMs, { rat: 'lte', alignment: 'dwell', alignedFixAgeMs: fixAgeMs })])
    const { body } = await read(organization.key, deviceId, 'latest')
    // The call also fails if the answer differs from the documented one.
    expect(body.cellular).toMatchObject({ alignment: 'dwell', fixAgeMs })
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
