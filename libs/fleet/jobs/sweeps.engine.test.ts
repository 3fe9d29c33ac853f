import { afterAll, beforeEach, expect, test } from 'vitest'
import { createBatch } from '#fleet/jobs/batches/create'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { recordedRounds } from '#test/recorded-rounds'
import { createDeviceJob } from './device-job.ts'
import { endMissedDeadlines, expireJobs } from './sweeps.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-sweeps.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(() => pool.query('TRUNCATE job, job_event, job_batch'))

const dayMs = 86_400_000
const nextWeek = { pool, clock: () => Date.now() + 8 * dayMs }

const newBatch = ({ ctx, organizationId, groupId }: JobFleet) =>
  createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId } })
const newJob = ({ ctx, deviceIds }: JobFleet) =>
  createDeviceJob(ctx, { deviceId: deviceIds[0] ?? '', kind: 'speed_test' })

async function statusesOf({ organizationId }: JobFleet): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ status: string; count: number }>(
    'SELECT status, count(*)::int AS count FROM job WHERE organization_id = $1 GROUP BY status',
    [organizationId],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

const takeAll = ({ organizationId }: JobFleet, overdueMinutes: number) =>
  pool.query(
    `WITH taken AS (
       UPDATE job SET status = 'inProgress', hold = NULL, deadline_at = now() - make_interval(mins => $2)
       WHERE organization_id = $1 RETURNING batch_id
     )
     UPDATE job_batch SET queued = 0, fresh = 0, in_progress = total WHERE id IN (SELECT batch_id FROM taken)`,
    [organizationId, overdueMinutes],
  )

test('jobs expire, of batches and alone, although those of another organization cannot', async () => {
  const [broken, fleet] = [await createJobFleet(pool, 2), await createJobFleet(pool, 2)]
  for (const owner of [broken, fleet]) {
    await newBatch(owner)
    await newJob(owner)
  }
  const repair = await failFor(pool, 'job', broken.organizationId)
  const { rounds, failed } = recordedRounds()
  expect(await expireJobs(nextWeek, rounds)).toBe(3)
  expect(await statusesOf(fleet)).toEqual({ expired: 3 })
  expect(new Set(failed)).toEqual(new Set([broken.organizationId]))
  await repair()
  expect(await expireJobs(nextWeek, rounds)).toBe(3)
  expect(await expireJobs(nextWeek, rounds)).toBe(0)
  expect(await statusesOf(broken)).toEqual({ expired: 3 })
})

test('an organization with many expired jobs takes turns with another one', async () => {
  const [large, fleet] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  const batches = 15
  for (let count = 0; count < batches; count++) await newBatch(large)
  await newBatch(fleet)
  const { rounds } = recordedRounds({ stepMs: 500 })
  await expireJobs(nextWeek, rounds)
  expect(await statusesOf(fleet)).toEqual({ expired: 1 })
  expect(await statusesOf(large)).not.toEqual({ expired: batches })
  for (let round = 0; round < 5; round++) await expireJobs(nextWeek, rounds)
  expect(await statusesOf(large)).toEqual({ expired: batches })
})

test('many missed deadlines of one organization do not delay that of another', async () => {
  const [large, fleet] = [await createJobFleet(pool, 1_001), await createJobFleet(pool, 1)]
  await newBatch(large)
  await newJob(fleet)
  await takeAll(large, 60)
  await takeAll(fleet, 1)
  expect(await endMissedDeadlines({ pool, clock: Date.now })).toBe(1_002)
  // They have attempts left.
  expect(await statusesOf(fleet)).toEqual({ queued: 1 })
  expect(await statusesOf(large)).toEqual({ queued: 1_001 })
})

test('a missed deadline is ended although those of another organization cannot be', async () => {
  const [broken, fleet] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  for (const owner of [broken, fleet]) {
    await newJob(owner)
    await takeAll(owner, 1)
  }
  const repair = await failFor(pool, 'job', broken.organizationId)
  const { rounds, failed } = recordedRounds()
  expect(await endMissedDeadlines({ pool, clock: Date.now }, rounds)).toBe(1)
  expect(await statusesOf(fleet)).toEqual({ queued: 1 })
  expect(failed).toEqual([broken.organizationId])
  await repair()
})
