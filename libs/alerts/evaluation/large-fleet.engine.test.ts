import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { evaluateStored } from './stored.ts'

let database: TestDatabase
let pool: OwnedPool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'large-fleet.test' })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const deviceCount = 100_000
// A round takes about a second. The limit allows for a busy machine; the benchmark "alerts" measures.
const maxRoundMs = 20_000

test('a round over 100,000 devices with four rules of different kinds ends in time', async () => {
  const fleet = await createJobFleet(pool, deviceCount)
  const { organizationId } = fleet
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO place (id, organization_id, name, area, ring, bounds) VALUES (uuidv7(), $1, 'Port',
       '{"type": "Polygon"}', '((8,50),(9,50),(9,51),(8,51))', '((9,51),(8,50))') RETURNING id`,
    [organizationId],
  )
  const placeId = rows[0]?.id ?? ''
  await pool.query(
    `UPDATE device SET last_seen_at = now(), last_fix_at = now(), last_lat = 49 + 3 * random(), last_lon = 7 + 3 * random()
     WHERE organization_id = $1`,
    [organizationId],
  )
  await pool.query('VACUUM ANALYZE device')
  await newAlertRule(fleet, { kind: 'offline', forMinutes: 30 })
  await newAlertRule(fleet, { kind: 'no_fix', forMinutes: 30 })
  await newAlertRule(fleet, { kind: 'entered_place', placeId, forMinutes: 0 })
  await newAlertRule(fleet, { kind: 'left_place', placeId, forMinutes: 0 })
  await evaluateStored(fleet.ctx)
  await pool.query(
    `UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id IN (
       SELECT id FROM device WHERE organization_id = $1 ORDER BY id LIMIT 1000)`,
    [organizationId],
  )
  const startedMs = performance.now()
  const changes = await evaluateStored(fleet.ctx)
  expect(changes).toBe(1_000)
  expect(performance.now() - startedMs).toBeLessThan(maxRoundMs)
}, 180_000)
