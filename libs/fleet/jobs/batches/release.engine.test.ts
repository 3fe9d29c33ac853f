import { afterAll, beforeEach, expect, test } from 'vitest'
import { createFairRounds } from '#core/fair-rounds'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { recordedRounds } from '#test/recorded-rounds'
import { createBatch } from './create.ts'
import { getBatch } from './read.ts'
import { releaseBatches } from './release.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-releases.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const nowMs = Date.now()
const hourMs = 3_600_000
let errors: unknown[] = []
beforeEach(async () => {
  await pool.query('TRUNCATE job, job_event, job_batch')
  errors = []
})

const release = (atMs = nowMs) =>
  releaseBatches({ pool, clock: () => atMs }, createFairRounds({ onError: (error) => errors.push(error) }))
const later = ({ ctx, organizationId, groupId }: JobFleet, startMs: number) =>
  createBatch(ctx, {
    organizationId,
    kind: 'speed_test',
    target: { groupId },
    schedule: { startAt: new Date(startMs).toISOString() },
  })

test('an error in one batch does not delay the others', async () => {
  const [one, other] = [await createJobFleet(pool, 2), await createJobFleet(pool, 2)]
  const poison = await later(one, nowMs + hourMs)
  const { id } = await later(other, nowMs + hourMs)
  await pool.query(`UPDATE job_batch SET schedule = '{"window": {"timeZone": "Mars/Olympus"}}' WHERE id = $1`, [
    poison.id,
  ])
  expect(await release(nowMs + hourMs)).toBe(2)
  expect(await getBatch(other.ctx, { organizationId: other.organizationId, batchId: id })).toMatchObject({
    status: 'running',
  })
  expect(errors).toHaveLength(1)
})

test('waiting batches cost one query in total', async () => {
  const fleet = await createJobFleet(pool, 1)
  for (let count = 0; count < 5; count += 1) await later(fleet, nowMs + hourMs)
  let connections = 0
  pool.on('acquire', () => {
    connections += 1
  })
  expect(await release()).toBe(0)
  expect(connections).toBe(1)
  expect(await release(nowMs + hourMs)).toBe(5)
})

test('a large aborted batch is cancelled in several rounds', async () => {
  const fleet = await createJobFleet(pool, 2_001)
  const { id } = await later(fleet, nowMs + hourMs)
  await pool.query(`UPDATE job_batch SET status = 'cancelled' WHERE id = $1`, [id])
  expect(await release()).toBe(2_000)
  expect(await release()).toBe(1)
  expect(await release()).toBe(0)
  expect(await getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId: id })).toMatchObject({
    counts: { cancelled: 2_001 },
  })
})

test('an organization with many batches takes turns with another one', async () => {
  const [large, small] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  const batches = 12
  for (let count = 0; count < batches; count += 1) await later(large, nowMs + hourMs)
  await later(small, nowMs + hourMs)
  const running = async ({ organizationId }: JobFleet) =>
    (await pool.query("SELECT FROM job_batch WHERE organization_id = $1 AND status = 'running'", [organizationId]))
      .rowCount
  const { rounds } = recordedRounds({ stepMs: 125 })
  const step = () => releaseBatches({ pool, clock: () => nowMs + hourMs }, rounds)
  await step()
  expect(await running(small)).toBe(1)
  expect(await running(large)).toBeLessThan(batches)
  while ((await step()) > 0);
  expect(await running(large)).toBe(batches)
})
