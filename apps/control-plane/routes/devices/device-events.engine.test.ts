import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { evaluateStored } from '#alerts/evaluation/stored'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Event = { id: string; at: string; kind: string; action: string; detail: Record<string, unknown> }
type EventPage = { items: Event[]; nextCursor: string | null; omitted: string[] }

async function newDevice() {
  const { id: organizationId, key } = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organizationId)
  const read = async (query = '', token = key): Promise<EventPage> => {
    const answer = await api.call('GET', `/devices/${deviceId}/events${query}`, { token })
    expect(answer.status).toBe(200)
    return answer.body
  }
  const store = (table: 'cellular' | 'system', rows: Record<string, unknown>[]) =>
    storeRows(api.questdb, table, rows.map((row) => ({ deviceId, organizationId, ...row })) as StoredRow[])
  /** All events, read in pages. */
  const readAll = async (query: string) => {
    const items: Event[] = []
    let cursor: string | null = null
    do {
      const page: EventPage = await read(`?${query}${cursor ? `&cursor=${cursor}` : ''}`)
      items.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return items
  }
  return { organizationId, key, deviceId, read, readAll, store }
}

describe('GET /devices/:id/events', () => {
  test('200 merges requests, status, jobs, alerts and telemetry, newest first, with the name of the key', async () => {
    const { organizationId, key, deviceId, read, store } = await newDevice()
    const { pool } = api.services
    const now = Math.floor(Date.now() / minuteMs) * minuteMs
    await store('cellular', [
      { tsMs: now - 50 * minuteMs, rat: 'lte', plmn: '26201', cellId: '1' },
      { tsMs: now - 40 * minuteMs, rat: 'lte', plmn: '26201', cellId: '2' },
    ])
    await store('system', [
      { tsMs: now - 50 * minuteMs, uptimeS: 90_000 },
      { tsMs: now - 30 * minuteMs, uptimeS: 60, rebootReason: 'power', fault: 'sim' },
    ])
    await api.call('PATCH', `/devices/${deviceId}`, { token: key, json: { name: 'Bus 7', model: 'RX-9' } })
    await api.call('PATCH', `/devices/${deviceId}`, { token: key, json: { status: 'offline' } })
    const job = await api.call('POST', `/devices/${deviceId}/jobs`, { token: key, json: { kind: 'reboot' } })
    const condition = { kind: 'offline', forMinutes: 5 }
    await api.call('POST', `/orgs/${organizationId}/alert-rules`, { token: key, json: { name: 'Silent', condition } })
    await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
    await evaluateStored(api.services)
    const { items, nextCursor, omitted } = await read('?limit=100')
    expect(nextCursor).toBeNull()
    expect(omitted).toEqual([])
    expect(items.map(({ kind, action }) => `${kind} ${action}`).filter((what) => what !== 'report reported')).toEqual([
      'alert opened',
      'job queued',
      'status device.status_changed',
      'change device.updated',
      'reboot rebooted',
      'fault fault_reported',
      'handover cell_changed',
    ])
    const one = (kind: string) => items.find((item) => item.kind === kind)
    expect(one('change')).toMatchObject({ byName: 'test', detail: { name: 'Bus 7', model: 'RX-9' } })
    expect(one('job')).toMatchObject({ detail: { jobId: job.body.id, jobKind: 'reboot', attempt: 1 } })
    expect(one('reboot')).toMatchObject({ by: null, detail: { uptimeS: 60, reason: 'power' } })
    expect(one('handover')).toMatchObject({ detail: { from: { cellId: '1' }, to: { cellId: '2' } } })
    expect(one('alert')).toMatchObject({ by: 'system', detail: { ruleName: 'Silent' } })
    const reports = items.filter(({ kind }) => kind === 'report')
    expect(reports.reduce((sum, { detail }) => sum + Number(detail.samples), 0)).toBe(4)
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
    expect(items.map(({ at }) => at)).toEqual(
      items
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
  })

  test('200 in pages: the same events as at once, without repetition, also across weeks of telemetry', async () => {
    const { readAll, store, deviceId, key } = await newDevice()
    const now = Date.now()
    const cells = Array.from({ length: 60 }, (_, index) => ({
      ...{ tsMs: now - index * 8 * hourMs, rat: 'lte', plmn: '26201', cellId: String(index) },
    }))
    await store('cellular', cells)
    for (let n = 0; n < 5; n++)
      await api.call('PATCH', `/devices/${deviceId}`, { token: key, json: { name: `Name ${n}` } })
    const all = await readAll('limit=200')
    expect(all.filter(({ kind }) => kind === 'handover')).toHaveLength(59)
    expect(all.filter(({ kind }) => kind === 'report')).toHaveLength(60)
    expect(all.filter(({ kind }) => kind === 'change')).toHaveLength(5)
    expect((await readAll('limit=7')).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    const handovers = await readAll('limit=4&kind=handover&kind=change')
    expect(handovers.map(({ id }) => id)).toEqual(all.filter(({ kind }) => kind !== 'report').map(({ id }) => id))
  })

  test('a slice that is full of samples continues at its end', async () => {
    const { readAll, store } = await newDevice()
    const now = Math.floor(Date.now() / 1_000) * 1_000
    const samples = Array.from({ length: 6_000 }, (_, index) => ({
      ...{ tsMs: now - index * 1_000, rat: 'lte', plmn: '26201', cellId: String(Math.floor(index / 1_500)) },
    }))
    await store('cellular', samples)
    expect(await readAll('kind=handover')).toHaveLength(3)
    const reports = await readAll('kind=report&kind=handover')
    const counted = reports.filter(({ kind }) => kind === 'report').map(({ detail }) => Number(detail.samples))
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(6_000)
  })

  test('handovers are of one modem, with its name and an id of their own, also across the edges of slices', async () => {
    const { readAll, store } = await newDevice()
    const now = Math.floor(Date.now() / 1_000) * 1_000
    const day = 24 * hourMs
    const sample = (tsMs: number, modem: string | null, cellId: string) => ({
      ...{ tsMs, modem, rat: 'lte', plmn: modem === 'wwan1' ? '26202' : '26201', cellId },
    })
    const silent = { modem: 'wwan1', rat: null, plmn: null, cellId: null }
    // The second modem was silent for weeks, in which the first one filled more than a slice.
    await store('cellular', [
      sample(now - 30 * day, 'wwan0', '1'),
      sample(now - 30 * day, 'wwan1', '7'),
      { ...silent, tsMs: now - 29 * day },
      ...Array.from({ length: 5_100 }, (_, index) => sample(now - day - index * 1_000, 'wwan0', '1')),
      sample(now - 2 * minuteMs, 'wwan1', '8'),
      sample(now - minuteMs, 'wwan0', '2'),
      sample(now - minuteMs, 'wwan1', '9'),
      sample(now - 30_000, 'wwan0', '2'),
    ])
    for (const limit of [1, 50]) {
      const events = await readAll(`kind=handover&limit=${limit}`)
      expect(events.map(({ id }) => id)).toEqual([
        `${now - minuteMs}:handover:cell_changed:wwan1`,
        `${now - minuteMs}:handover:cell_changed:wwan0`,
        `${now - 2 * minuteMs}:handover:cell_changed:wwan1`,
      ])
      expect(events.map(({ detail }) => detail.modem)).toEqual(['wwan1', 'wwan0', 'wwan1'])
      expect(events[2]?.detail).toMatchObject({ from: { cellId: '7' }, to: { cellId: '8' } })
    }
    const unnamed = await newDevice()
    await unnamed.store('cellular', [sample(now - minuteMs, null, '1'), sample(now, null, '2')])
    const place = { rat: 'lte', plmn: '26201', operatorName: null }
    expect(await unnamed.readAll('kind=handover')).toMatchObject([{ id: `${now}:handover:cell_changed` }])
    expect((await unnamed.readAll('kind=handover'))[0]?.detail).toEqual({
      from: { ...place, cellId: '1' },
      to: { ...place, cellId: '2' },
    })
  })

  test('kinds whose scope is missing are omitted; one of them alone is 403; a stranger gets 404', async () => {
    const { organizationId, deviceId, read } = await newDevice()
    const reader = await api.newKey([organizationId], ['device:read', 'job:read'])
    const { omitted } = await read('', reader)
    expect(omitted).toEqual(['change', 'alert', 'reboot', 'handover', 'fault', 'report'])
    const get = (token: string, query: string) => api.call('GET', `/devices/${deviceId}/events${query}`, { token })
    expect(await get(reader, '?kind=change')).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
    expect((await get(reader, '?kind=wish')).status).toBe(400)
    expect((await get((await api.newOrganization()).key, '')).status).toBe(404)
  })

  test('after a transfer, the new owner sees nothing of the time before', async () => {
    const { deviceId, key, store } = await newDevice()
    await store('system', [
      { tsMs: Date.now() - 2 * hourMs, uptimeS: 90_000 },
      { tsMs: Date.now() - hourMs, uptimeS: 60 },
    ])
    const to = await api.newOrganization()
    const both = api.platformKey
    await api.call('PATCH', `/devices/${deviceId}`, { token: key, json: { name: 'Before' } })
    await api.call('POST', `/devices/${deviceId}/transfer`, { token: both, json: { toOrgId: to.id } })
    const { body } = await api.call('GET', `/devices/${deviceId}/events`, { token: to.key })
    expect(body.items.map(({ action }: Event) => action)).toEqual(['device.transferred'])
    expect((await api.call('GET', `/devices/${deviceId}/events`, { token: key })).status).toBe(404)
  })
})
