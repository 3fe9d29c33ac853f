import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteExpired } from '#fleet/retention'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

test('deletes only idempotency records older than a day and expired tokens', async () => {
  const { pool } = api.services
  const { id, key } = await api.newOrganization()
  const create = async (serial: string) => {
    const json = { organizationId: id, serial, name: 'R', model: 'M' }
    const headers = { 'idempotency-key': serial }
    return (await api.call('POST', '/devices', { token: key, json, headers })).body.id
  }
  const deviceId = await create('A')
  await pool.query("UPDATE idempotency_record SET created_at = now() - interval '25 hours'")
  await create('B')
  for (let issued = 0; issued < 2; issued++) {
    await api.call('POST', `/devices/${deviceId}/token`, { token: key, json: {} })
  }
  await pool.query("UPDATE device_token SET expires_at = now() - interval '2 hours' WHERE expires_at IS NOT NULL")
  expect(await deleteExpired({ pool, clock: Date.now })).toBe(2)
  const { rows } = await pool.query("SELECT created_at > now() - interval '1 hour' AS recent FROM idempotency_record")
  expect(rows).toEqual([{ recent: true }])
  expect((await pool.query('SELECT expires_at FROM device_token')).rows).toEqual([{ expires_at: null }])
})
