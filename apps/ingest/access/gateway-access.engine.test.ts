import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let ingest: IngestProcess
const logDir = mkdtempSync(join(tmpdir(), 'gateway-access-'))

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  ingest = await startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })
})
afterAll(async () => {
  await ingest.end('SIGTERM')
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  rmSync(logDir, { recursive: true })
})

let organizationId: string
let device: ReportingDevice
let serial: string
let key: string
beforeEach(async () => {
  organizationId = await newOrganization(pool)
  const [fresh] = await newReportingDevices(pool, organizationId, 1)
  if (fresh) device = fresh
  serial = (await pool.query('SELECT serial FROM device WHERE id = $1', [device.id])).rows[0].serial
  key = await newKey(true)
})

async function newKey(allowGateway: boolean, groupId: string | null = null): Promise<string> {
  const { id, hash, token } = issueToken('fle')
  await pool.query(
    `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, created_by, allow_gateway, gateway_group_id)
     VALUES ($1, $2, 'G', $3, false, 'test', $4, $5)`,
    [id, organizationId, hash, allowGateway, groupId],
  )
  return token
}

async function send(
  identity: string,
  { token = key, receivedAt = '', samples = [{ kind: 'system', cpuPct: 7 }] } = {},
) {
  const answer = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'routerfleet-device': identity,
      ...(receivedAt && { 'routerfleet-received-at': receivedAt }),
    },
    body: JSON.stringify({ samples }),
  })
  const { code } = (await answer.json()) as { code?: string }
  return [answer.status, code]
}

const rowsOf = () => questdb.query<{ ts: number }>('SELECT ts FROM system WHERE device_id = $1', [device.id])

test('a gateway reports for a device by serial, IMEI or MAC address', async () => {
  await pool.query(
    "INSERT INTO device_identifier VALUES ($1, 'imei', '352099001761481', $2), ($1, 'mac', '001e42c0ffee', $2)",
    [organizationId, device.id],
  )
  for (const identity of [`serial=${encodeURIComponent(serial)}`, 'imei=352099001761481', 'mac=00:1E:42:C0:FF:EE'])
    expect(await send(identity), identity).toEqual([202, undefined])
  await until('the rows can be read', async () => (await rowsOf()).length >= 1)
})

test('a repeated delivery with the same time of receipt is stored once', async () => {
  const receivedAt = String(Date.now() - 3_000)
  for (let attempt = 0; attempt < 3; attempt += 1)
    expect(await send(`serial=${serial}`, { receivedAt })).toEqual([202, undefined])
  expect(await send(`serial=${serial}`, { receivedAt: '5' })).toEqual([202, undefined])
  await until('both times can be read', async () => (await rowsOf()).length === 2)
  expect((await rowsOf()).map(({ ts }) => ts)).toContain(Number(receivedAt))
})

test('a device of another organization does not exist for a gateway', async () => {
  const other = await newOrganization(pool)
  const [foreign] = await newReportingDevices(pool, other, 1)
  const { rows } = await pool.query('SELECT serial FROM device WHERE id = $1', [foreign?.id])
  expect(rows[0].serial).toBeTruthy()
  await pool.query("UPDATE device SET serial = 'FOREIGN' WHERE id = $1", [foreign?.id])
  expect(await send('serial=FOREIGN')).toEqual([404, 'device_unknown'])
})

test('401 for a key of enrollments only, a revoked key, and a token of a device', async () => {
  expect(await send(`serial=${serial}`, { token: await newKey(false) })).toEqual([401, 'unauthenticated'])
  expect(await send(`serial=${serial}`, { token: device.token })).toEqual([401, 'unauthenticated'])
  expect(await send(`serial=${serial}`)).toEqual([202, undefined])
  await pool.query('UPDATE enrollment_key SET revoked_at = now() WHERE organization_id = $1', [organizationId])
  await until('the revocation takes effect', async () => (await send(`serial=${serial}`))[0] === 401, 5_000)
})

test('400 for a header that names no device', async () => {
  for (const identity of ['', 'serial=', 'imei=5', 'phone=1', 'serial=%E0%A4%A'])
    expect(await send(identity)).toEqual([400, 'invalid_request'])
})

test('a deleted and a disabled device are refused', async () => {
  expect(await send(`serial=${serial}`)).toEqual([202, undefined])
  await pool.query("UPDATE device SET status = 'disabled' WHERE id = $1", [device.id])
  await until('disabled', async () => (await send(`serial=${serial}`))[1] === 'device_disabled', 5_000)
  await pool.query('DELETE FROM device WHERE id = $1', [device.id])
  await until('deleted', async () => (await send(`serial=${serial}`))[1] === 'device_unknown', 5_000)
})

/** The answers to a gateway that asks for the jobs and the configuration of the device, and reports on a job. */
async function askForDevice(token = key): Promise<[number, string | undefined][]> {
  const report = { attempt: 1, status: 'succeeded' }
  const calls = [
    ['GET', '/device/jobs/next'],
    ['GET', '/device/config'],
    ['POST', `/device/jobs/${newId()}/status`],
  ] as const
  return Promise.all(
    calls.map(async ([method, path]) => {
      const answer = await fetch(ingest.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'routerfleet-device': `serial=${serial}`,
        },
        ...(method === 'POST' ? { body: JSON.stringify(report) } : {}),
      })
      const text = await answer.text()
      return [answer.status, text === '' ? undefined : JSON.parse(text).code]
    }),
  )
}

const statusesOf = async () => (await askForDevice()).map(([status]) => status)
const refusedForToken = Array(3).fill([403, 'device_has_token'])

test('jobs and configuration are for gateways only while the device has no token of its own', async () => {
  expect(await askForDevice()).toEqual(refusedForToken)
  expect(await send(`serial=${serial}`)).toEqual([202, undefined])
  await pool.query('DELETE FROM device_token WHERE device_id = $1', [device.id])
  await until('the gateway may ask', async () => String(await statusesOf()) === '204,204,404', 5_000)
  const { id, hash } = issueToken('fld')
  const waiting = fetch(`${ingest.url}/device/jobs/next?waitSeconds=30`, {
    headers: { authorization: `Bearer ${key}`, 'routerfleet-device': `serial=${serial}` },
  })
  const values = [id, organizationId, device.id, hash]
  await pool.query(
    "INSERT INTO device_token (id, organization_id, device_id, token_hash, expires_at) VALUES ($1, $2, $3, $4, now() + interval '1 hour')",
    values,
  )
  await until('the token counts', async () => String(await statusesOf()) === '403,403,403', 5_000)
  expect((await waiting).status).toBe(403)
  // A token that has expired is none, without a notice.
  await pool.query("UPDATE device_token SET expires_at = now() + interval '1 second' WHERE id = $1", [id])
  await until('the token has expired', async () => String(await statusesOf()) === '204,204,404', 10_000)
})

test('a gateway of a group speaks for its effective members only, and for no device once it is deleted', async () => {
  const groupId = newId()
  await pool.query("INSERT INTO device_group (id, organization_id, name) VALUES ($1, $2, 'Trams')", [
    groupId,
    organizationId,
  ])
  const token = await newKey(true, groupId)
  const answers = (status: number, code?: string) => async () =>
    String(await send(`serial=${serial}`, { token })) === String([status, code])
  const member = [organizationId, groupId, device.id]
  expect(await answers(404, 'device_unknown')()).toBe(true)

  await pool.query('INSERT INTO device_group_member (organization_id, group_id, device_id) VALUES ($1, $2, $3)', member)
  await until('an explicit member', answers(202), 5_000)
  await pool.query('DELETE FROM device_group_member WHERE device_id = $1', [device.id])
  await until('no member', answers(404, 'device_unknown'), 5_000)

  await pool.query("UPDATE device SET tags = '{tram}' WHERE id = $1", [device.id])
  await pool.query("UPDATE device_group SET smart_tags = '{tram}' WHERE id = $1", [groupId])
  await until('a member by its tag', answers(202), 5_000)
  await pool.query("UPDATE organization SET plan = 'free' WHERE id = $1", [organizationId])
  await until('a plan without smart tags', answers(404, 'device_unknown'), 5_000)
  await pool.query("UPDATE organization SET plan = 'pro' WHERE id = $1", [organizationId])
  await until('the tag counts again', answers(202), 5_000)
  await pool.query("UPDATE device_group SET smart_tags = '{bus}' WHERE id = $1", [groupId])
  await until('another tag', answers(404, 'device_unknown'), 5_000)
  await pool.query("UPDATE device_group SET smart_tags = '{tram}' WHERE id = $1", [groupId])
  await until('a member again', answers(202), 5_000)

  await pool.query('DELETE FROM device_group WHERE id = $1', [groupId])
  await until('no group', answers(404, 'device_unknown'), 5_000)
  expect(await askForDevice(token)).toEqual(Array(3).fill([404, 'device_unknown']))
})

async function enroll(enrollmentKey: string): Promise<[number, string | undefined]> {
  const answer = await fetch(`${ingest.url}/device/enroll`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ enrollmentKey, serial, model: 'R1' }),
  })
  return [answer.status, ((await answer.json()) as { code?: string }).code]
}

test('the key of a group’s gateway enrolls no router', async () => {
  await pool.query('DELETE FROM device_token WHERE device_id = $1', [device.id])
  expect(await enroll(await newKey(true, newId()))).toEqual([403, 'enrollment_refused'])
  expect(await enroll(key)).toEqual([201, undefined])
})

test('402 for the enrollment of a registered router under a suspended subscription', async () => {
  await pool.query('DELETE FROM device_token WHERE device_id = $1', [device.id])
  const change = (status: string) =>
    pool.query('UPDATE organization SET subscription_status = $2 WHERE id = $1', [organizationId, status])
  await change('suspended')
  expect(await enroll(await newKey(false))).toEqual([402, 'subscription_inactive'])
  await change('active')
  expect(await enroll(await newKey(false))).toEqual([201, undefined])
})
