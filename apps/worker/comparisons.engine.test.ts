import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadPlans } from '#fleet/organizations/plans'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbRows } from '#questdb/server/sql'
import { votesIn } from '#test/coverage-rows'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { questdbConnection } from '#test/questdb'
import { registerDevice } from '#test/registered-device'
import { newOrganization } from '#test/reporting-device'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'
import { compareInThread } from './comparisons.ts'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbRows
const failures: { error: unknown; organizationId: string }[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'comparisons.test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'comparisons.test' })
})
afterAll(async () => {
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
})

async function compare(
  questdbUrl = questdbConnection().pgUrl,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  return compareInThread({
    system: { pool, clock: Date.now, plans: await loadPlans() },
    copies: [questdb],
    addresses: { postgresUrl: database.url, questdbUrls: [questdbUrl] },
    onTurnFailed: (error, organizationId) => failures.push({ error, organizationId }),
    signal,
  })
}

/** An organization with a router that voted, whose comparison is requested. */
async function fleetToCompare() {
  const organizationId = await newOrganization(pool)
  await pool.query("UPDATE organization SET plan = 'pro' WHERE id = $1", [organizationId])
  await pool.query('INSERT INTO radio_health_run (organization_id, requested_at) VALUES ($1, now())', [organizationId])
  const deviceId = await registerDevice(pool, organizationId)
  const vote = { cellId: '27447297', rsrpDbm: -90 }
  await storeRows(questdb, 'cellular', votesIn({ organizationId, deviceId }, latLngToCell(46.2, 7.3, 10), 1, vote))
  await refreshCoverage(questdb)
  return { organizationId, deviceId }
}

test('compares the organization that is due once, in a thread', async () => {
  const { organizationId, deviceId } = await fleetToCompare()
  expect(await compare()).toBe(1)
  const { rows } = await pool.query('SELECT device_id, status FROM device_radio_health WHERE organization_id = $1', [
    organizationId,
  ])
  expect(rows).toEqual([{ device_id: deviceId, status: 'unknown' }])
  expect(await compare()).toBe(0)
  expect(failures).toEqual([])
})

test('tells why the turn of an organization failed', async () => {
  const { organizationId } = await fleetToCompare()
  expect(await compare('postgresql://127.0.0.1:1/qdb')).toBe(0)
  expect(failures).toMatchObject([{ organizationId, error: { code: 'ECONNREFUSED' } }])
})

test('a stop of the worker does not wait for a comparison in progress', async () => {
  await fleetToCompare()
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const stopping = new AbortController()
  silent.once('connection', () => stopping.abort())
  const { port } = silent.address() as AddressInfo
  expect(await compare(`postgresql://127.0.0.1:${port}/qdb`, stopping.signal)).toBe(0)
  silent.close()
})
