import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#core/clock'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { deleteExpired } from './retention.ts'

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

test('deletes any number of rows, and those of the other tables if one fails', async () => {
  const { pool } = api.services
  await pool.query(
    `INSERT INTO idempotency_record (scope_hash, request_hash, status, created_at)
     SELECT sha256(n::text::bytea), '', 201, now() - interval '2 days' FROM generate_series(1, 10001) n`,
  )
  await pool.query(
    `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken for a test'; END $$;
     CREATE TRIGGER keep BEFORE DELETE ON idempotency_record FOR EACH ROW EXECUTE FUNCTION keep()`,
  )
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM api_key LIMIT 1')
  await pool.query("INSERT INTO sign_in_link (token_hash, api_key_id, expires_at) VALUES ('a', $1, now())", [
    rows[0]?.id,
  ])
  await expect(deleteExpired({ pool, clock: systemClock })).rejects.toThrow('broken for a test')
  expect((await pool.query('SELECT FROM sign_in_link')).rowCount).toBe(0)
  await pool.query('DROP TRIGGER keep ON idempotency_record')
  expect(await deleteExpired({ pool, clock: systemClock })).toBe(10_001)
})
