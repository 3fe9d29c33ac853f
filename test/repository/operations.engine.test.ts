import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { issueTestTokens } from '#test/job-fleet'
import { until } from '#test/until'

// Runs the statements of docs/operations.md for restoring an older backup.

let api: TestControlPlane
let listRevoked: string
let revokeAll: string
beforeAll(async () => {
  api = await startControlPlane()
  const page = await readFile(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
  const [, section = ''] = /^## Restoring an older Postgres backup$(.*?)^## /ms.exec(page) ?? []
  const blocks = [...section.matchAll(/^ *```sql\n(.*?)^ *```$/gms)].map(([, sql = '']) => sql)
  ;[listRevoked = '', revokeAll = ''] = blocks
})
afterAll(() => api.close())

const idOf = (key: string): string => key.split('_')[1] ?? ''
const query = (sql: string, values?: unknown[]) => api.services.pool.query(sql, values)

/** Creates an organization with keys, devices and tokens, none of them revoked. */
async function newFleet() {
  const { id: organizationId, key: admin } = await api.newOrganization()
  const { id: partner } = await api.newOrganization()
  const call = (method: string, path: string, json?: unknown) =>
    api.call(method, path, { token: admin, ...(json === undefined ? {} : { json }) })
  const revoked = await api.newKey([organizationId], 'viewer')
  const shared = await api.newKey([partner, organizationId], 'viewer')
  const enrollment = await call('POST', `/orgs/${organizationId}/enrollment-keys`, { name: 'Depot', autoCreate: true })
  const newDevice = async (serial: string): Promise<string> =>
    (await call('POST', '/devices', { organizationId, serial, name: serial, model: 'RX400' })).body.id
  const [replaced, disabled] = [await newDevice('SN-1'), await newDevice('SN-2')]
  const tokens = await issueTestTokens(api.services.pool, organizationId, [replaced, disabled])
  return {
    organizationId,
    admin,
    revoked,
    shared,
    enrollmentKeyId: enrollment.body.id,
    replaced,
    disabled,
    tokens,
    call,
  }
}

const statusWith = async (key: string, organizationId: string) =>
  (await api.call('GET', `/orgs/${organizationId}`, { token: key })).status

/** Backs up the tables whose rows the test changes. Returns the function that restores them. */
async function backUp() {
  const tables = ['api_key', 'api_key_grant', 'enrollment_key', 'device', 'device_token']
  for (const table of tables) await query(`CREATE TABLE backup_${table} AS TABLE ${table}`)
  return async function restore(): Promise<void> {
    await query(`DELETE FROM api_key_grant; INSERT INTO api_key_grant TABLE backup_api_key_grant;
      DELETE FROM device_token; INSERT INTO device_token TABLE backup_device_token;
      UPDATE api_key SET revoked_at = b.revoked_at FROM backup_api_key b WHERE b.id = api_key.id;
      UPDATE enrollment_key SET revoked_at = b.revoked_at FROM backup_enrollment_key b WHERE b.id = enrollment_key.id;
      UPDATE device SET status = b.status FROM backup_device b WHERE b.id = device.id`)
    for (const table of tables) await query(`DROP TABLE backup_${table}`)
  }
}

const untilAnswered = (status: number, key: string, organizationId: string) =>
  until(`the key is answered with ${status}`, async () => (await statusWith(key, organizationId)) === status)

test('after a restore, the list revokes what was revoked since the backup', async () => {
  const fleet = await newFleet()
  const { organizationId, call } = fleet
  const restore = await backUp()
  await call('DELETE', `/orgs/${organizationId}/api-keys/${idOf(fleet.revoked)}`)
  await call('DELETE', `/orgs/${organizationId}/api-keys/${idOf(fleet.shared)}`)
  await call('DELETE', `/orgs/${organizationId}/enrollment-keys/${fleet.enrollmentKeyId}`)
  await call('POST', `/devices/${fleet.replaced}/token`, { revoke: true })
  await call('PATCH', `/devices/${fleet.disabled}`, { status: 'disabled' })

  const { rows } = await query(listRevoked)
  await restore()
  await untilAnswered(200, fleet.revoked, organizationId)
  await untilAnswered(200, fleet.shared, organizationId)

  for (const [statement] of rows.map(Object.values)) await query(statement)
  await untilAnswered(401, fleet.revoked, organizationId)
  await untilAnswered(404, fleet.shared, organizationId)
  expect(await statusWith(fleet.admin, organizationId)).toBe(200)
  expect((await call('GET', `/orgs/${organizationId}/enrollment-keys`)).body.items).toEqual([])
  expect((await call('GET', `/devices/${fleet.disabled}`)).body.status).toBe('disabled')
  const left = await query('SELECT device_id FROM device_token WHERE organization_id = $1', [organizationId])
  expect(left.rows).toEqual([{ device_id: fleet.disabled }])
})

test('without the list, the statements revoke all keys and tokens', async () => {
  const fleet = await newFleet()
  await query(revokeAll)
  await untilAnswered(401, fleet.admin, fleet.organizationId)
  const { rows } = await query('SELECT FROM device_token')
  expect(rows).toEqual([])
  const open = await query('SELECT FROM enrollment_key WHERE revoked_at IS NULL')
  expect(open.rows).toEqual([])
})
