import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Clock } from '#core/clock'
import { newId } from '#core/ids'
import type { FleetContext } from '#fleet/context'
import { type GpsQuery, openGps } from '#fleet-map/gps/gps-request'
import { readGps } from '#fleet-map/gps/map-data'
import { createLiveMaps } from '#fleet-map/live/live-maps'
import { createRevisions } from '#fleet-map/revisions'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { storeRows } from '#test/telemetry-rows'
import { createFleetMaps } from '../../fleet-maps.ts'

const tenMinutesMs = 10 * 60_000
const ahead: Clock = () => Date.now() + tenMinutesMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => api.close())

async function organizationWithDevice() {
  const organization = await api.newOrganization()
  const json = { organizationId: organization.id, serial: newId(), name: 'Router', model: 'R1', tags: [] }
  const { body } = await api.call('POST', '/devices', { token: organization.key, json })
  const remove = () => api.call('DELETE', `/devices/${body.id}`, { token: organization.key })
  return { organization, deviceId: body.id as string, remove }
}

test('a process whose clock is ahead detects that a device was deleted', async () => {
  const { organization, deviceId, remove } = await organizationWithDevice()
  const { pools, readers } = api.services
  const live = createLiveMaps({ pools, readers, clock: ahead, revisions: createRevisions() })
  const map = await live.read(organization.id, ahead() - tenMinutesMs, readers.of('test'))
  expect(map.device(deviceId)).toBeDefined()
  await remove()
  await live.read(organization.id, ahead() - tenMinutesMs, readers.of('test'))
  expect(map.device(deviceId)).toBeUndefined()
  expect(map.goneSince(0)).toEqual([deviceId])
  live.close()
})

test('a change of a transaction that ends after later changes is in the next read', async () => {
  const { organization, deviceId } = await organizationWithDevice()
  const { pool, pools, readers } = api.services
  const live = createLiveMaps({ pools, readers, clock: Date.now, revisions: createRevisions() })
  const read = () => live.read(organization.id, Date.now() - tenMinutesMs, readers.of('test'))
  const map = await read()
  const rename = (token: string, id: string, name: string) =>
    api.call('PATCH', `/devices/${id}`, { token, json: { name } })
  const slow = await pool.connect()
  await slow.query('BEGIN')
  await slow.query("UPDATE device SET name = 'Slow' WHERE id = $1", [deviceId])
  await slow.query(
    `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id)
     VALUES ($1, $2, 'test', 'device.updated', 'device', $3)`,
    [newId(), organization.id, deviceId],
  )
  const other = await api.call('POST', '/devices', {
    token: organization.key,
    json: { organizationId: organization.id, serial: newId(), name: 'Other', model: 'R1', tags: [] },
  })
  for (const name of ['Second', 'Third']) {
    await rename(organization.key, other.body.id, name)
    await read()
    expect([map.device(deviceId)?.entry.name, map.device(other.body.id)?.entry.name]).toEqual(['Router', name])
  }
  await slow.query('COMMIT')
  slow.release()
  await read()
  expect(map.device(deviceId)?.entry.name).toBe('Slow')
  live.close()
})

test('a read with a longer window returns telemetry that arrived since the previous read', async () => {
  const { organization, deviceId } = await organizationWithDevice()
  const { pools, readers } = api.services
  const { questdb } = api
  let nowMs = Date.now()
  const live = createLiveMaps({ pools, readers, clock: () => nowMs, revisions: createRevisions() })
  await live.read(organization.id, nowMs - tenMinutesMs, readers.of('test'))
  const row = {
    tsMs: nowMs + 1_000,
    deviceId,
    organizationId: organization.id,
    lat: 10,
    lon: 20,
    fix: '3d',
    usable: true,
  }
  await storeRows(questdb, 'location', [row])
  nowMs += 60_000
  const map = await live.read(organization.id, nowMs - 3 * 86_400_000, readers.of('test'))
  expect(map.device(deviceId)?.location).toMatchObject({ lat: 10, lon: 20 })
  live.close()
})

test('an asOf from a process whose clock is ahead returns deleted devices in another process', async () => {
  const { organization, deviceId, remove } = await organizationWithDevice()
  const { pool, pools, readers, plans, keyring } = api.services
  const read = async (clock: Clock, since?: string) => {
    const fleet = createFleetMaps({ pools, readers, clock, logger: { error: expect.fail } })
    const rateLimit = { key: 'test', perMinute: 1_000 }
    const principal = { id: 'test', platform: true, homeOrganizationId: null, grants: new Map(), rateLimit }
    const ctx: FleetContext = { pool, plans, keyring, clock, requestId: 'test', principal }
    const query = { orgId: organization.id, sinceMinutes: 60, include: ['devices'], since } as unknown as GpsQuery
    try {
      return await readGps(ctx, fleet, readers.of('test'), await openGps(ctx, query))
    } finally {
      fleet.live.close()
    }
  }
  const { asOf, selection } = await read(ahead)
  expect(selection.devices.map(({ device }) => device.entry.deviceId)).toEqual([deviceId])
  await remove()
  expect((await read(Date.now, asOf)).gone).toEqual([deviceId])
})

test('an audit row carries the time of the database, not of the process that writes it', async () => {
  const { organization, deviceId, remove } = await organizationWithDevice()
  const nowMs = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: ahead() })
  await remove()
  vi.useRealTimers()
  const { rows } = await api.services.pool.query<{ at_ms: number }>(
    `SELECT (extract(epoch FROM uuid_extract_timestamp(id)) * 1000)::float8 AS at_ms FROM audit_entry
     WHERE organization_id = $1 AND subject_id = $2 AND action = 'device.deleted'`,
    [organization.id, deviceId],
  )
  expect(Math.abs((rows[0]?.at_ms ?? 0) - nowMs)).toBeLessThan(tenMinutesMs / 2)
})

test('a device of a process whose clock is ahead can be transferred at once', async () => {
  const [from, to] = [await api.newOrganization(), await api.newOrganization()]
  vi.useFakeTimers({ toFake: ['Date'], now: ahead() })
  const json = { organizationId: from.id, serial: newId(), name: 'Router', model: 'R1', tags: [] }
  const { body } = await api.call('POST', '/devices', { token: from.key, json })
  vi.useRealTimers()
  const moved = await api.call('POST', `/devices/${body.id}/transfer`, {
    token: api.platformKey,
    json: { toOrgId: to.id },
  })
  expect(moved).toMatchObject({ status: 200, body: { organizationId: to.id } })
})
