import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
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
let device: ReportingDevice
const logDir = mkdtempSync(join(tmpdir(), 'ingest-test-'))

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  ingest = await startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })
})
beforeEach(async () => {
  const [fresh] = await newReportingDevices(pool, await newOrganization(pool), 1)
  if (fresh) device = fresh
})
afterAll(async () => {
  expect(await ingest.end('SIGTERM')).toBe(0)
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  rmSync(logDir, { recursive: true })
})

type Sent = { body?: string | Buffer; headers?: Record<string, string>; method?: string; path?: string }

async function send({ body = '', headers = {}, method = 'POST', path = '/telemetry' }: Sent) {
  const answer = await fetch(`${ingest.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json', ...headers },
    ...(method === 'GET' ? {} : { body: new Uint8Array(Buffer.from(body)) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests assert.
  const json: any = await answer.json()
  if (answer.status !== 202) {
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(json).toMatchObject({ status: answer.status, requestId: answer.headers.get('x-request-id') })
    expect(json.type && json.title && json.detail && json.code).toBeTruthy()
  }
  return { status: answer.status, body: json, headers: answer.headers }
}

const report = (samples: unknown[], more: object = {}) => JSON.stringify({ ...more, samples })
const sample = (more: object = {}) => ({ kind: 'system', ts: Date.now(), cpuPct: 5, ...more })

test('a report is accepted and every sample is a row within seconds', async () => {
  const ts = Date.now() - 1_000
  const answer = await send({
    body: report([
      { kind: 'cellular', ts, rsrpDbm: -95, rat: 'lte' },
      { kind: 'location', ts, lat: 51.9, lon: -8.47, fix: '3d', accuracyM: 5 },
      { kind: 'connection', ts, state: 'connected' },
      { kind: 'system', ts, cpuPct: 12.5, firmware: '7.1', fault: 'fan' },
    ]),
    headers: { 'x-request-id': 'abc-1' },
  })
  expect(answer).toMatchObject({ status: 202, body: { accepted: 4, rejected: [], jobsPending: 0 } })
  expect(answer.headers.get('x-request-id')).toBe('abc-1')
  const row = await until(
    'the row is queryable',
    async () => {
      const rows = await questdb.query<{ ts: number; rsrp_dbm: number; org_id: string }>(
        'SELECT ts, rsrp_dbm, org_id FROM cellular WHERE device_id = $1',
        [device.id],
      )
      return rows[0]
    },
    60_000,
  )
  expect(row).toEqual({ ts, rsrp_dbm: -95, org_id: device.organizationId })
  for (const kind of ['location', 'connection', 'system']) {
    await until(`a row of ${kind}`, async () => {
      return (await questdb.query(`SELECT ts FROM ${kind} WHERE device_id = $1`, [device.id])).length === 1
    })
  }
  await until('the registry shows what was reported', async () => {
    const { rows } = await pool.query('SELECT * FROM device WHERE id = $1', [device.id])
    const { status, firmware, fault, last_lat, last_lon, last_seen_at } = rows[0]
    return (
      status === 'error' &&
      firmware === '7.1' &&
      fault === 'fan' &&
      last_lat === 51.9 &&
      last_lon === -8.47 &&
      last_seen_at
    )
  })
  const { rows } = await pool.query(
    "SELECT detail FROM audit_entry WHERE subject_id = $1 AND action = 'device.status_changed'",
    [device.id],
  )
  expect(rows.at(-1)?.detail).toMatchObject({ to: 'error' })
})

test('reads both formats and codings', async () => {
  const lines = `{"sentAt": ${Date.now()}, "batchId": "b1"}\n${JSON.stringify(sample())}\nbroken\n${JSON.stringify(sample({ ts: Date.now() - 5 }))}\n`
  const ndjson = await send({ body: lines, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } })
  expect(ndjson.body).toMatchObject({ accepted: 2, rejected: [{ index: 1, code: 'invalid_sample' }] })
  const body = report([sample({ ts: Date.now() - 10 })])
  for (const [coding, bytes] of [
    ['gzip', gzipSync(body)],
    ['zstd', zstdCompressSync(body)],
    ['GZIP', gzipSync(body)],
  ] as const) {
    expect((await send({ body: bytes, headers: { 'content-encoding': coding } })).body.accepted).toBe(1)
  }
})

test('lists invalid samples and accepts the others', async () => {
  const answer = await send({
    body: report([
      sample(),
      'no object',
      { ts: 1 },
      { kind: 'weather' },
      sample({ ts: 'yesterday' }),
      sample({ ts: Date.now() + 6 * 60_000 }),
      sample({ ts: Date.UTC(2019, 1, 1) }),
      sample({ ts: Date.now() - 91 * 86_400_000 }),
      sample({ firmware: 'x'.repeat(257) }),
    ]),
  })
  expect(answer.status).toBe(202)
  expect(answer.body.accepted).toBe(1)
  expect(answer.body.rejected.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
    [1, 'invalid_sample'],
    [2, 'unknown_kind'],
    [3, 'unknown_kind'],
    [4, 'ts_invalid'],
    [5, 'ts_out_of_range'],
    [6, 'ts_out_of_range'],
    [7, 'ts_out_of_range'],
    [8, 'invalid_sample'],
  ])
})

test('400: nothing could be decoded', async () => {
  for (const body of ['', '{', '[]', '{"samples": {}}', '{"samples": []}', 'null']) {
    expect((await send({ body })).status, body).toBe(400)
  }
  const half = gzipSync(report([sample()])).subarray(0, -6)
  expect((await send({ body: half, headers: { 'content-encoding': 'gzip' } })).status).toBe(400)
  expect((await send({ body: 'x', headers: { 'content-encoding': 'zstd' } })).status).toBe(400)
})

test('401 without a valid device token', async () => {
  for (const authorization of [
    '',
    'Basic abc',
    `Bearer ${issueToken('fld').token}`,
    `Bearer ${issueToken('flk').token}`,
    `Bearer ${device.token}x`,
  ]) {
    const answer = await send({ body: report([sample()]), headers: { authorization, 'x-forwarded-for': '192.0.2.1' } })
    expect([answer.status, answer.body.code], authorization).toEqual([401, 'unauthenticated'])
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
  }
})

test('413: too many bytes, before and after decompression, and too many samples', async () => {
  const large = Buffer.alloc(1024 * 1024 + 1, ' ')
  expect((await send({ body: large })).status).toBe(413)
  const chunked = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
    body: new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(64 * 1024))
        if (controller.desiredSize === null) controller.close()
      },
    }),
    duplex: 'half',
  } as RequestInit).catch((error: Error) => error)
  expect(chunked instanceof Error ? 413 : chunked.status).toBe(413)
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  expect((await send({ body: bomb, headers: { 'content-encoding': 'gzip' } })).status).toBe(413)
  const many = await send({
    body: report(Array.from({ length: 1_001 }, (_, index) => sample({ ts: Date.now() - index }))),
  })
  expect(many.status).toBe(413)
})

test('415 for other formats and codings', async () => {
  expect((await send({ body: report([sample()]), headers: { 'content-type': 'text/plain' } })).status).toBe(415)
  const coded = await send({ body: report([sample()]), headers: { 'content-encoding': 'br' } })
  expect([coded.status, coded.headers.get('accept-encoding')]).toEqual([415, 'gzip, zstd'])
})

test('404 and 405 are problem documents', async () => {
  expect((await send({ path: '/telemetry/x' })).status).toBe(404)
  const wrong = await send({ method: 'GET', headers: { authorization: '' } })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
  expect((await send({ method: 'PUT', path: '/telemetry' })).status).toBe(405)
})

test('403 within seconds of being disabled, 401 of being revoked, and back again', async () => {
  const attempt = async () => (await send({ body: report([sample()]) })).status
  expect(await attempt()).toBe(202)
  await pool.query("UPDATE device SET status = 'disabled' WHERE id = $1", [device.id])
  await until('it is refused', async () => (await attempt()) === 403, 5_000)
  await pool.query("UPDATE device SET status = 'provisioning' WHERE id = $1", [device.id])
  await until('it is let in again', async () => (await attempt()) === 202, 5_000)
  await pool.query('DELETE FROM device_token WHERE device_id = $1', [device.id])
  await until('its token is dead', async () => (await attempt()) === 401, 5_000)
})

test('402 only from 30 days after the subscription ended', async () => {
  const end = (daysAgo: number) =>
    pool.query(
      "UPDATE organization SET subscription_status = 'cancelled', subscription_changed_at = now() - make_interval(days => $2) WHERE id = $1",
      [device.organizationId, daysAgo],
    )
  await end(29)
  expect((await send({ body: report([sample()]) })).status).toBe(202)
  await pool.query("UPDATE organization SET subscription_status = 'active' WHERE id = $1", [device.organizationId])
  await end(31)
  await until(
    'it is refused',
    async () => {
      const { status, body } = await send({ body: report([sample()]) })
      return status === 402 && body.code === 'subscription_inactive'
    },
    5_000,
  )
})

test('429 after the burst of a device', async () => {
  let allowed = 0
  const refused = await until(
    'the device is over its rate',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => send({ body: '{' })))
      allowed += answers.filter(({ status }) => status === 400).length
      return answers.find(({ status }) => status === 429)
    },
    60_000,
  )
  expect(allowed).toBeGreaterThanOrEqual(240)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('ratelimit-policy')).toBe('"device";q=120;w=60')
})

test('429: samples of many days count as many requests and are all accepted', async () => {
  const strewn = report(Array.from({ length: 80 }, (_, day) => sample({ ts: Date.now() - day * 86_400_000 })))
  for (let sent = 0; sent < 4; sent += 1) {
    expect(await send({ body: strewn })).toMatchObject({ status: 202, body: { accepted: 80 } })
  }
  const refused = await send({ body: report([sample()]) })
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(20)
})

test('429: large reports count by their size, and another device is served at the same time', async () => {
  // A mebibyte counts as two requests, so half of a burst of 240 is taken.
  const body = gzipSync(`{"samples": ["no object"]}${' '.repeat(1024 * 1024 - 26)}`)
  const [neighbour] = await newReportingDevices(pool, device.organizationId, 1)
  const headers = { 'content-encoding': 'gzip' }
  const answers = Array.from({ length: 240 }, () => send({ body, headers }))
  const authorization = `Bearer ${neighbour?.token}`
  expect((await send({ body: report([sample()]), headers: { authorization } })).status).toBe(202)
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  const taken = statuses.filter((status) => status === 202).length
  expect(statuses.filter((status) => status === 429)).toHaveLength(240 - taken)
  // Two requests a second come back while the burst lasts.
  expect(taken).toBeGreaterThanOrEqual(120)
  expect(taken).toBeLessThan(180)
})

test.each([
  ['an address', () => '198.51.100.7'],
  ['an IPv6 network', (index: number) => `2001:db8:1:2:${index.toString(16)}::7`],
])('429 for %s with many failed authentications, but not for its valid tokens', async (_, addressOf) => {
  const authorization = `Bearer ${issueToken('fld').token}`
  const statuses: number[] = []
  for (let index = 0; index < 125; index++)
    statuses.push((await send({ headers: { authorization, 'x-forwarded-for': addressOf(index) } })).status)
  expect(statuses.slice(0, 120)).toEqual(Array(120).fill(401))
  expect(statuses.at(-1)).toBe(429)
  const neighbour = await send({ body: report([sample()]), headers: { 'x-forwarded-for': addressOf(0) } })
  expect(neighbour.status).toBe(202)
})

test('the response has the number of open jobs', async () => {
  await pool.query(
    `INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, lifetime_s, created_by, expires_at)
     VALUES (gen_random_uuid(), $1, $2, 'reboot', true, 'dispatched', 1, 3600, 'test', now() + interval '1 hour')`,
    [device.organizationId, device.id],
  )
  await until(
    'the response counts the job',
    async () => (await send({ body: report([sample()]) })).body.jobsPending === 1,
  )
})

test('the metrics add up: a repeated report replaces rows, and no other report does', async () => {
  const figures = async () => {
    const text = await (await fetch(`${ingest.url}/metrics`)).text()
    return Object.fromEntries(
      [
        ...text.matchAll(
          /^telemetry_(samples_\w+_total|backlog_samples|log_commit\w+_total)(?:\{[^}]*\})? ([\d.e-]+)$/gm,
        ),
      ].map(([, name, value]) => [name ?? '', Number(value)]),
    )
  }
  const settled = () =>
    until('nothing waits', async () => {
      const now = await figures()
      return now.backlog_samples === 0 ? now : undefined
    })
  const before = await settled()
  const body = report(Array.from({ length: 50 }, (_, index) => sample({ ts: Date.now() - index * 1_000 })))
  await send({ body })
  await send({ body })
  const after = await settled()
  const difference = (name: string) => (after[name] ?? 0) - (before[name] ?? 0)
  expect(difference('samples_accepted_total')).toBe(100)
  expect(difference('samples_stored_total')).toBe(50)
  expect(difference('samples_replaced_total')).toBe(50)
  expect(difference('samples_dead_lettered_total')).toBe(0)
  expect(difference('log_commits_total')).toBe(2)
  expect(difference('log_commit_seconds_total')).toBeGreaterThan(0)
})
