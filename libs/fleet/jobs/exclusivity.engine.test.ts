import { afterAll, expect, test } from 'vitest'
import { pauseBatch, resumeBatch } from '#fleet/jobs/batches/control'
import { createBatch } from '#fleet/jobs/batches/create'
import { releaseBatches } from '#fleet/jobs/batches/release'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { createDeviceJob } from './device-job.ts'
import { dispatchJobs } from './dispatch.ts'
import { reconcileOffers } from './queue-offers.ts'
import { getJob } from './read.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-exclusivity.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const nowMs = Date.now()
const system = () => ({ pool, clock: () => nowMs })

/** One router and its jobs. `dispatch` processes a queue entry as the worker does. */
async function oneRouter() {
  const { ctx, organizationId, groupId, deviceIds } = await createJobFleet(pool, 1)
  const statusOf = async (id: string) => (await getJob(ctx, { organizationId, jobId: id })).status
  return {
    statusOf,
    async newBatch(): Promise<{ id: string; jobId: string }> {
      const { id, jobs } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
      return { id, jobId: jobs[0]?.id ?? '' }
    },
    newJob: async () => (await createDeviceJob(ctx, { deviceId: deviceIds[0] ?? '', kind: 'reboot' })).id,
    async dispatch(jobId: string): Promise<string> {
      await dispatchJobs(system(), [{ jobId, attempt: 1 }])
      return statusOf(jobId)
    },
    holdOf: async (jobId: string) =>
      (await pool.query<{ hold: string | null }>('SELECT hold FROM job WHERE id = $1', [jobId])).rows[0]?.hold,
    pause: (batchId: string) => pauseBatch(ctx, { organizationId, batchId }),
    resume: (batchId: string) => resumeBatch(ctx, { organizationId, batchId }),
  }
}

test('a job that waits for its device is released when the blocking batch is paused', async () => {
  const router = await oneRouter()
  const batch = await router.newBatch()
  expect(await router.dispatch(batch.jobId)).toBe('dispatched')
  const newer = await router.newJob()
  expect(await router.dispatch(newer)).toBe('queued')
  await reconcileOffers(system())
  expect(await router.holdOf(newer)).toBe('device')
  await router.pause(batch.id)
  await reconcileOffers(system())
  expect(await router.holdOf(newer)).toBeNull()
  expect(await router.dispatch(newer)).toBe('dispatched')
  expect(await router.statusOf(batch.jobId)).toBe('queued')
  expect(await router.holdOf(batch.jobId)).toBe('device')
})

test('a job of a paused batch that was not offered does not block newer ones', async () => {
  const router = await oneRouter()
  const batch = await router.newBatch()
  await router.pause(batch.id)
  expect(await router.dispatch(await router.newJob())).toBe('dispatched')
  expect(await router.statusOf(batch.jobId)).toBe('queued')
})

test('a job of a paused batch does not take the device from another job', async () => {
  const router = await oneRouter()
  const [first, second] = [await router.newBatch(), await router.newBatch()]
  expect(await router.dispatch(first.jobId)).toBe('dispatched')
  expect(await router.dispatch(second.jobId)).toBe('queued')
  await pool.query('UPDATE job_batch SET window_open = false WHERE id = ANY($1::uuid[])', [[first.id, second.id]])
  await reconcileOffers(system())
  expect(await router.holdOf(second.jobId)).toBe('device')
  expect(await router.dispatch(second.jobId)).toBe('queued')
  expect(await router.statusOf(first.jobId)).toBe('dispatched')
})

test('a batch that is cancelled while its job is recalled remains cancelled and ends', async () => {
  const router = await oneRouter()
  const batch = await router.newBatch()
  await router.dispatch(batch.jobId)
  await pool.query("UPDATE job_batch SET status = 'cancelled' WHERE id = $1", [batch.id])
  expect(await router.dispatch(await router.newJob())).toBe('dispatched')
  const { rows } = await pool.query('SELECT status, queued, dispatched FROM job_batch WHERE id = $1', [batch.id])
  expect(rows).toEqual([{ status: 'cancelled', queued: 1, dispatched: 0 }])
  await releaseBatches(system())
  expect(await router.statusOf(batch.jobId)).toBe('cancelled')
})

test('a recalled job is dispatched when its batch is resumed and the device is free', async () => {
  const router = await oneRouter()
  const batch = await router.newBatch()
  await router.dispatch(batch.jobId)
  await router.pause(batch.id)
  const newer = await router.newJob()
  await router.dispatch(newer)
  await router.resume(batch.id)
  expect(await router.dispatch(batch.jobId)).toBe('queued')
  await pool.query("UPDATE job SET status = 'succeeded' WHERE id = $1", [newer])
  await reconcileOffers(system())
  expect(await router.holdOf(batch.jobId)).toBeNull()
  expect(await router.dispatch(batch.jobId)).toBe('dispatched')
})
