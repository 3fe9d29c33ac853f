import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Scope, scopes } from '#fleet/access/scopes'
import { createDataUseTotals } from '#fleet-map/device-list/data-use-totals'
import { type Answer, startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
let mine: Organization
beforeAll(async () => {
  api = await startControlPlane()
  const { pools, fleetMaps } = api.services
  Object.assign(fleetMaps, { dataUse: createDataUseTotals({ pools, clock: () => nowMs }) })
  mine = await fleet()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

type Seeded = { at?: [lat: number, lon: number]; today?: number; yesterday?: number }

/** Towns and data use of the devices. `Nowhere` has neither. */
const seeded: Record<string, Seeded> = {
  Arnhem: { at: [51.98, 5.91111], today: 5_000, yesterday: 1_000 },
  Malmo: { at: [55.60587, 13.00073], today: 0, yesterday: 9_000 },
  Aarhus: { at: [56.15674, 10.21076], yesterday: 2_000 },
  Second: { at: [51.9801, 5.9111], today: 5_000 },
  Nowhere: {},
}

const dayMs = 86_400_000
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
/** The second day of a month, so that yesterday belongs to the month and the day before does not. */
const today = '2026-10-02'
const nowMs = Date.parse(`${today}T12:00:00Z`)

async function fleet(): Promise<Organization> {
  const organization = await api.newOrganization()
  await measured(organization.id)
  for (const [name, values] of Object.entries(seeded)) await device(organization, name, values)
  return organization
}

const measured = (organizationId: string) =>
  api.services.pool.query(
    'INSERT INTO data_use_day (organization_id, day, measured_at) SELECT $1, day, now() FROM unnest($2::date[]) AS day',
    [organizationId, [today, dayOf(nowMs - dayMs)]],
  )

async function device({ id: organizationId, key }: Organization, name: string, { at, today: used, yesterday }: Seeded) {
  const json = { organizationId, serial: `SN-${name}`, name, model: 'R1', tags: [name === 'Second' ? 'bus' : 'truck'] }
  const { body } = await api.call('POST', '/devices', { token: key, json })
  await api.services.pool.query('UPDATE device SET last_lat = $2, last_lon = $3, last_fix_at = now() WHERE id = $1', [
    body.id,
    at?.[0] ?? null,
    at?.[1] ?? null,
  ])
  for (const [day, bytes] of [
    [today, used],
    [dayOf(nowMs - dayMs), yesterday],
    // The month before does not count.
    [dayOf(nowMs - 3 * dayMs), 1_000_000],
  ])
    if (bytes !== undefined)
      await api.services.pool.query('INSERT INTO device_data_use VALUES ($1, $2, $3, $4)', [
        organizationId,
        body.id,
        day,
        bytes,
      ])
}

const list = (query: string, token = mine.key) => api.call('GET', `/devices?${query}`, { token })
const names = ({ status, body }: Answer): string[] => {
  expect(status, JSON.stringify(body)).toBe(200)
  return body.items.map(({ name }: { name: string }) => name)
}

async function paged(sort: string, limit: number): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await list(`sort=${sort}&limit=${limit}${cursor && `&cursor=${cursor}`}`)
    found.push(...names(answer))
    cursor = answer.body.nextCursor
  }
  return found
}

/** A key that lacks a scope. */
const without = (scope: Scope) =>
  api.newKey(
    [mine.id],
    scopes.filter((one) => one !== scope),
  )

describe('GET /devices', () => {
  test.each([1, 2, 3])('200 sorts in pages of %i, with devices without a value last', async (limit) => {
    // Equal values are in the order of the ids.
    expect(await paged('near', limit)).toEqual(['Aarhus', 'Arnhem', 'Second', 'Malmo', 'Nowhere'])
    expect(await paged('-near', limit)).toEqual(['Malmo', 'Second', 'Arnhem', 'Aarhus', 'Nowhere'])
    expect(await paged('dataToday', limit)).toEqual(['Malmo', 'Arnhem', 'Second', 'Aarhus', 'Nowhere'])
    expect(await paged('-dataToday', limit)).toEqual(['Second', 'Arnhem', 'Malmo', 'Nowhere', 'Aarhus'])
    expect(await paged('-dataMonth', limit)).toEqual(['Malmo', 'Arnhem', 'Second', 'Aarhus', 'Nowhere'])
  })

  test('200 filters by the nearest town, regardless of case and accents, and by data use', async () => {
    expect(names(await list('near=ARNHEM'))).toEqual(['Second', 'Arnhem'])
    expect(names(await list('near=malmo'))).toEqual(['Malmo'])
    expect(names(await list(`near=${encodeURIComponent('mö')}`))).toEqual(['Malmo'])
    expect(names(await list('near=atlantis'))).toEqual([])
    expect(names(await list('near=%25%25'))).toEqual([])
    expect(names(await list('minTodayBytes=5000&sort=name'))).toEqual(['Arnhem', 'Second'])
    expect(names(await list('minTodayBytes=0&sort=name'))).toEqual(['Arnhem', 'Malmo', 'Second'])
    expect(names(await list('minMonthBytes=5001&sort=-dataMonth'))).toEqual(['Malmo', 'Arnhem'])
    expect(names(await list('minTodayBytes=1&near=arnhem&tag=truck'))).toEqual(['Arnhem'])
    expect(names(await list('minTodayBytes=1&signal=unknown&sort=name'))).toEqual(['Arnhem', 'Second'])
  })

  test('200 adds the data use on request: one number for all modems, null without a counter', async () => {
    const { body } = await list('include=dataUse&sort=name')
    const used = Object.fromEntries(body.items.map((item: Record<string, unknown>) => [item.name, item.dataUse]))
    const measuredAt = expect.any(String)
    expect(used).toEqual({
      Aarhus: { todayBytes: null, monthBytes: 2_000, measuredAt },
      Arnhem: { todayBytes: 5_000, monthBytes: 6_000, measuredAt },
      Malmo: { todayBytes: 0, monthBytes: 9_000, measuredAt },
      Nowhere: { todayBytes: null, monthBytes: null, measuredAt },
      Second: { todayBytes: 5_000, monthBytes: 5_000, measuredAt },
    })
    expect((await list('sort=name')).body.items[0]).not.toHaveProperty('dataUse')
    const unmeasured = await api.newOrganization()
    await device(unmeasured, 'New', {})
    expect((await list('include=dataUse', unmeasured.key)).body.items).toMatchObject([{ dataUse: null }])
  })

  test('200 without the fleet map in the plan', async () => {
    const free = await api.newOrganization({ plan: 'free' })
    await device(free, 'Free', { at: [51.98, 5.91], today: 7 })
    expect(names(await list('near=arnhem&sort=near', free.key))).toEqual(['Free'])
    expect(names(await list('minTodayBytes=7', free.key))).toEqual(['Free'])
  })

  test('400 for values out of range', async () => {
    for (const query of ['near=a', 'minTodayBytes=-1', 'minMonthBytes=x', 'minMonthBytes=1e30', 'sort=data'])
      expect((await list(query)).status, query).toBe(400)
  })

  test('403 without the scope', async () => {
    const asking = {
      'fleet:read': ['near=arnhem', 'sort=near'],
      'telemetry:read': ['minTodayBytes=1', 'minMonthBytes=1', 'sort=dataToday', 'sort=-dataMonth', 'include=dataUse'],
    } as const
    for (const scope of ['fleet:read', 'telemetry:read'] as const) {
      const token = await without(scope)
      for (const query of asking[scope])
        for (const org of ['', `&orgId=${mine.id}`])
          expect((await list(`${query}${org}`, token)).body, query).toMatchObject({
            ...{ status: 403, code: 'insufficient_scope' },
          })
    }
  })

  test('404 for another organization, and a list of several has devices only of those with the scope', async () => {
    const other = await fleet()
    for (const query of ['near=arnhem', 'sort=dataToday', 'include=dataUse'])
      expect((await list(`${query}&orgId=${other.id}`)).status, query).toBe(404)
    const token = await api.newKey([mine.id], 'viewer')
    const { rows } = await api.services.pool.query('SELECT id FROM api_key ORDER BY created_at DESC LIMIT 1')
    await api.services.pool.query(
      'INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)',
      [rows[0]?.id, other.id, ['device:read']],
    )
    expect(names(await list('near=malmo', token))).toEqual(['Malmo'])
    expect(names(await list('minMonthBytes=9000', token))).toEqual(['Malmo'])
    const { items } = (await list('include=dataUse&q=malmo', token)).body
    expect(items.map(({ dataUse }: { dataUse: unknown }) => dataUse === null).sort()).toEqual([false, true])
    expect((await list(`near=malmo&orgId=${other.id}`, token)).status).toBe(403)
  })
})

describe('GET /devices/export', () => {
  test('200 has the rows, the order and the columns of the list', async () => {
    const { status, body } = await api.call(
      'GET',
      '/devices/export?sort=-dataMonth&include=near,dataUse&near=ar&minMonthBytes=1',
      { token: mine.key },
    )
    expect(status).toBe(200)
    expect(parse(body, { columns: true })).toMatchObject([
      { name: 'Arnhem', nearName: 'Arnhem', dataTodayBytes: '5000', dataMonthBytes: '6000' },
      { name: 'Second', nearName: 'Arnhem', dataTodayBytes: '5000', dataMonthBytes: '5000' },
      { name: 'Aarhus', dataTodayBytes: '', dataMonthBytes: '2000' },
    ])
  })
})

describe('bulk requests', () => {
  test('change the devices near a town that used much', async () => {
    const organization = await fleet()
    const json = { filter: { near: 'Arnhem', minMonthBytes: 5_500 }, add: ['much-data'] }
    const path = `/orgs/${organization.id}/device-tags`
    const { body } = await api.call('POST', path, { token: organization.key, json })
    expect(body).toEqual({ matched: 1, changed: 1, refused: 0 })
    expect(names(await list('tag=much-data', organization.key))).toEqual(['Arnhem'])
  })
})
