import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'

let database: TestDatabase
let pool: OwnedPool
let ingest: IngestProcess
const logDir = mkdtempSync(join(tmpdir(), 'neighbours-'))

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  ingest = await startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })
})
afterAll(async () => {
  await ingest.end('SIGTERM')
  await pool.end()
  await database.drop()
  rmSync(logDir, { recursive: true })
})

type Fleet = { organizationId: string; enrollmentKey: string; devices: ReportingDevice[] }

async function newFleet(deviceCount: number): Promise<Fleet> {
  const organizationId = await newOrganization(pool)
  const { id, hash, token: enrollmentKey } = issueToken('fle')
  await pool.query(
    `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, created_by)
     VALUES ($1, $2, 'E', $3, true, 'test')`,
    [id, organizationId, hash],
  )
  return { organizationId, enrollmentKey, devices: await newReportingDevices(pool, organizationId, deviceCount) }
}

const enroll = async ({ enrollmentKey }: Fleet) => {
  const answer = await fetch(`${ingest.url}/device/enroll`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ enrollmentKey, serial: newId(), model: 'R1' }),
  })
  await answer.body?.cancel()
  return answer.status
}

async function nextJob({ token }: ReportingDevice): Promise<[number, string | undefined]> {
  const answer = await fetch(`${ingest.url}/device/jobs/next?waitSeconds=0`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const text = await answer.text()
  return [answer.status, text === '' ? undefined : JSON.parse(text).id]
}

async function report({ token }: ReportingDevice): Promise<number> {
  const answer = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ samples: [{ kind: 'system', cpuPct: 7 }] }),
  })
  await answer.body?.cancel()
  return answer.status
}

async function dispatchJob({ id, organizationId }: ReportingDevice): Promise<string> {
  const jobId = newId()
  await pool.query(
    `INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, parameters, lifetime_s,
       expires_at, created_by, created_at, updated_at, attempt)
     VALUES ($1, $2, $3, 'reboot', false, 'dispatched', 3, '{}', 3600, now() + interval '1 hour', 'test', now(), now(), 1)`,
    [jobId, organizationId, id],
  )
  return jobId
}

const waitForLock = (count: number) =>
  until(`${count} transactions of ingest wait`, async () => {
    const { rowCount } = await pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ingest'
         AND wait_event_type = 'Lock'`,
    )
    return (rowCount ?? 0) >= count
  })

/** Locks rows from outside. Returns a function that unlocks them. */
async function lock(text: string, id: string): Promise<() => Promise<void>> {
  const connection = await pool.connect()
  await connection.query('BEGIN')
  await connection.query(`${text} FOR UPDATE`, [id])
  return async () => {
    await connection.query('ROLLBACK')
    connection.release()
  }
}

test('routers of others are served while enrollments of two organizations wait for their usage counters', async () => {
  const bystander = await newFleet(2)
  const [device, other] = bystander.devices as [ReportingDevice, ReportingDevice]
  const neighbours = [await newFleet(0), await newFleet(0)]
  const unlocks = await Promise.all(
    neighbours.map(({ organizationId }) =>
      lock('SELECT FROM organization_usage WHERE organization_id = $1', organizationId),
    ),
  )
  const crowd = neighbours.flatMap((neighbour) => Array.from({ length: 20 }, () => enroll(neighbour)))
  await waitForLock(2)
  const jobId = await dispatchJob(device)
  expect(await nextJob(device)).toEqual([200, jobId])
  expect(await nextJob(other)).toEqual([204, undefined])
  expect(await enroll(bystander)).toBe(201)
  expect(await report(other)).toBe(202)
  await Promise.all(unlocks.map((unlock) => unlock()))
  for (const status of await Promise.all(crowd)) expect([201, 429]).toContain(status)
})

test('routers of others get their jobs while the jobs of an organization are locked', async () => {
  const neighbour = await newFleet(3)
  const bystander = await newFleet(1)
  const [device] = bystander.devices as [ReportingDevice]
  const locked = await Promise.all(neighbour.devices.map(dispatchJob))
  const jobId = await dispatchJob(device)
  const unlock = await lock('SELECT FROM job WHERE organization_id = $1', neighbour.organizationId)
  const crowd = neighbour.devices.map(nextJob)
  await waitForLock(1)
  expect(await nextJob(device)).toEqual([200, jobId])
  await unlock()
  expect(await Promise.all(crowd)).toEqual(locked.map((id) => [200, id]))
})
