import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { questdbConnection } from '#test/questdb'
import { storeRows } from '#test/telemetry-rows'

const run = promisify(execFile)
let database: TestDatabase
let questdb: QuestdbSql

beforeAll(async () => {
  database = await createTestDatabase()
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'erasure.test' })
})
afterAll(async () => {
  await questdb.end()
  await database.drop()
})

test('the command erases the telemetry of a deleted device and of no other', async () => {
  const [deleted, kept, organizationId] = [newId(), newId(), newId()]
  for (const deviceId of [deleted, kept]) {
    await storeRows(questdb, 'location', [{ tsMs: Date.now(), deviceId, organizationId, lat: 51.5, lon: -8.5 }])
  }
  const pool = openPool(database.url, { applicationName: 'erasure.test' })
  await pool.query('INSERT INTO erasure_request (device_id, organization_id) VALUES ($1, $2)', [
    deleted,
    organizationId,
  ])
  await pool.end()
  const { stdout } = await run(process.execPath, ['apps/worker/erase-now.ts'], {
    env: { ...process.env, POSTGRES_URL: database.url, QUESTDB_PG_URL: questdbConnection().pgUrl },
  })
  expect(stdout).toContain('1 deleted devices')
  const rows = await questdb.query<{ device_id: string; lat: number | null }>(
    'SELECT device_id, lat FROM location WHERE org_id = $1',
    [organizationId],
  )
  expect(new Map(rows.map(({ device_id, lat }) => [device_id, lat]))).toEqual(
    new Map([
      [deleted, null],
      [kept, 51.5],
    ]),
  )
})
