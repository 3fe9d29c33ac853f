import { afterAll, beforeEach, expect, test } from 'vitest'
import { pauseBatch, resumeBatch, retryBatch } from '#fleet/jobs/batches/control'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { releaseBatches } from '#fleet/jobs/batches/release'
import type { NewJobDelivery } from '#fleet/jobs/model/good-moment'
import type { JobKind } from '#fleet/jobs/model/kinds'
import type { Rollout } from '#fleet/jobs/model/rollout'
import type { Schedule } from '#fleet/jobs/model/schedule'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { reportJob, takeJobs } from './delivery.ts'
import { retryJob } from './device-job.ts'
import { dispatchJobs } from './dispatch.ts'
import { listJobs } from './read.ts'
import { endMissedDeadlines, expireJobs } from './sweeps.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-lifetimes.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const noon = '2027-01-04T12:00:00Z'
const night: Schedule = { window: { from: '02:00', to: '04:00', timeZone: 'UTC' } }
let nowMs = Date.parse(noon)
const clock = () => nowMs
const system = { pool, clock }
beforeEach(async () => {
  await pool.query('TRUNCATE job, job_event, job_batch')
  nowMs = Date.parse(noon)
})

/** What the worker does at a time: it expires, releases and dispatches jobs. */
async function workAt(time: string) {
  nowMs = Date.parse(time)
  await expireJobs(system)
  await releaseBatches(system)
  const { rows } = await pool.query<{ jobId: string; attempt: number }>(
    `SELECT id AS "jobId", attempt FROM job WHERE status = 'queued' AND (hold IS NULL OR hold = 'fresh') ORDER BY id`,
  )
  await dispatchJobs(system, rows)
}

type Options = { kind?: JobKind; schedule?: Schedule; rollout?: Rollout; delivery?: NewJobDelivery }

/** A batch of reboots, which have one hour, or of another kind, created at noon. */
async function reboots(deviceCount: number, { kind = 'reboot', ...options }: Options = {}) {
  const { ctx, organizationId, groupId, deviceIds } = await createJobFleet(pool, deviceCount, clock)
  const { id: batchId } = await createBatch(ctx, { organizationId, kind, target: { groupId }, ...options })
  const reference = { organizationId, batchId }
  const listed = async () => {
    const { items } = await listJobs(ctx, { organizationId, filter: {}, page: { limit: 100, after: undefined } })
    return items.toReversed()
  }
  return {
    reference,
    /** The jobs in order of their ids: status, and the time at which each expires. */
    jobs: async () => (await listed()).map(({ status, expiresAt }) => `${status} ${expiresAt.slice(5, 16)}`),
    pause: () => pauseBatch(ctx, reference),
    resume: () => resumeBatch(ctx, reference),
    retryAll: () => retryBatch(ctx, reference),
    retryOne: async () => retryJob(ctx, { organizationId, jobId: (await listed())[0]?.id ?? '' }),
    read: () => getBatch(ctx, reference),
    /** The device with this number asks for a job. Returns what it receives. */
    take: async (device: number) => {
      const deviceId = deviceIds[device] ?? ''
      return (await takeJobs(system, [{ deviceId, organizationId }])).get(deviceId)
    },
    finish: async (device: number) => {
      const identity = { deviceId: deviceIds[device] ?? '', organizationId }
      const job = (await takeJobs(system, [identity])).get(identity.deviceId)
      const report = { attempt: job?.attempt ?? 0, status: 'succeeded' } as const
      await reportJob(system, { device: identity, jobId: job?.id ?? '', report })
    },
  }
}

test('a reboot that is created by day has its hour in the window of the night', async () => {
  const { jobs, take } = await reboots(2, { schedule: night })
  expect(await jobs()).toEqual(['queued 01-05T03:00', 'queued 01-05T03:00'])
  await workAt('2027-01-04T20:00:00Z')
  await workAt('2027-01-05T02:00:00Z')
  expect(await take(0)).toMatchObject({ kind: 'reboot', expiresAt: '2027-01-05T03:00:00.000Z' })
  await workAt('2027-01-05T02:59:00Z')
  expect(await jobs()).toEqual(['inProgress 01-05T03:00', 'dispatched 01-05T03:00'])
  await workAt('2027-01-05T03:00:00Z')
  expect(await jobs()).toEqual(['inProgress 01-05T03:00', 'expired 01-05T03:00'])
})

test('a job that is delivered at the latest while its window is closed has its hour in the next one', async () => {
  const waits = { when: 'goodSignal', minQuality: 'good' } as const
  const delivery = { ...waits, latestAt: '2027-01-05T12:00:00Z', atLatest: 'deliver' } as const
  const { jobs, pause, resume } = await reboots(1, { schedule: night, delivery })
  expect(await jobs()).toEqual(['queued 01-06T03:00'])
  await workAt('2027-01-05T02:00:00Z')
  expect(await jobs()).toEqual(['dispatched 01-06T03:00'])
  await pause()
  await workAt('2027-01-05T03:00:00Z')
  await resume()
  await workAt('2027-01-06T02:59:00Z')
  expect(await jobs()).toEqual(['dispatched 01-06T03:00'])
  await workAt('2027-01-06T03:00:00Z')
  expect(await jobs()).toEqual(['expired 01-06T03:00'])
})

test('jobs of a worker that was stopped have their hour when it releases them', async () => {
  const { jobs } = await reboots(1, { schedule: { startAt: '2027-01-04T13:00:00Z' } })
  nowMs = Date.parse('2027-01-04T18:00:00Z')
  expect(await jobs()).toEqual(['queued 01-04T19:00'])
  await workAt('2027-01-04T18:30:00Z')
  expect(await jobs()).toEqual(['dispatched 01-04T19:30'])
})

test('each stage has its hour after its wait', async () => {
  const { jobs, finish, take } = await reboots(3, { rollout: { canary: 1, stageWaitMinutes: 120 } })
  await workAt(noon)
  await finish(0)
  await workAt('2027-01-04T12:10:00Z')
  expect(await jobs()).toEqual(['succeeded 01-04T13:00', 'queued 01-04T15:10', 'queued 01-04T15:10'])
  await workAt('2027-01-04T14:09:00Z')
  await workAt('2027-01-04T14:10:00Z')
  expect(await jobs()).toEqual(['succeeded 01-04T13:00', 'dispatched 01-04T15:10', 'dispatched 01-04T15:10'])
  nowMs = Date.parse('2027-01-04T15:09:59Z')
  expect(await take(1)).toBeDefined()
  await workAt('2027-01-04T15:10:00Z')
  expect(await jobs()).toEqual(['succeeded 01-04T13:00', 'inProgress 01-04T15:10', 'expired 01-04T15:10'])
})

test('a stage that an operator confirms a day later has its hour then', async () => {
  const { jobs, finish, resume } = await reboots(2, { rollout: { canary: 1, confirmStages: true } })
  await workAt(noon)
  await finish(0)
  await workAt('2027-01-04T12:10:00Z')
  await workAt('2027-01-05T12:10:00Z')
  await resume()
  await workAt('2027-01-05T12:11:00Z')
  expect(await jobs()).toEqual(['succeeded 01-04T13:00', 'dispatched 01-05T13:11'])
})

test('jobs that wait for their turn have their hour when it comes, and each expires at its own time', async () => {
  const { jobs, reference } = await reboots(3, { rollout: { maxPerMinute: 1 } })
  await pool.query('UPDATE job SET lifetime_s = 90 WHERE batch_id = $1', [reference.batchId])
  for (const time of ['12:00', '12:01', '12:02']) await workAt(`2027-01-04T${time}:00Z`)
  expect(await jobs()).toEqual(['expired 01-04T12:01', 'dispatched 01-04T12:02', 'dispatched 01-04T12:03'])
  await workAt('2027-01-04T12:03:00Z')
  expect(await jobs()).toEqual(['expired 01-04T12:01', 'expired 01-04T12:02', 'dispatched 01-04T12:03'])
  await workAt('2027-01-04T12:04:00Z')
  expect((await jobs())[2]).toBe('expired 01-04T12:03')
})

test('a pause stops the hour of jobs, which starts again at the end of the pause', async () => {
  const { jobs, pause, resume, take } = await reboots(3)
  await workAt('2027-01-04T12:01:00Z')
  await pool.query(`UPDATE job SET attempt = 2 WHERE id = (SELECT min(id::text)::uuid FROM job)`)
  await workAt('2027-01-04T12:30:00Z')
  await pause()
  await workAt('2027-01-04T15:00:00Z')
  expect(await take(0)).toBeUndefined()
  expect(await jobs()).toEqual(Array(3).fill('dispatched 01-04T16:00'))
  nowMs = Date.parse('2027-01-04T18:00:00Z')
  await resume()
  await workAt('2027-01-04T18:59:00Z')
  expect(await jobs()).toEqual(Array(3).fill('dispatched 01-04T19:00'))
  expect(await take(0)).toMatchObject({ expiresAt: '2027-01-04T19:00:00.000Z' })
  await workAt('2027-01-04T19:00:00Z')
  expect(await jobs()).toEqual(['inProgress 01-04T19:00', 'expired 01-04T19:00', 'expired 01-04T19:00'])
})

test('jobs that were paused before they were dispatched are dispatched after a long pause', async () => {
  const { jobs, pause, resume } = await reboots(2)
  await pause()
  await workAt('2027-01-06T12:00:00Z')
  await resume()
  await workAt('2027-01-06T12:00:01Z')
  await workAt('2027-01-06T12:00:02Z')
  expect((await jobs()).map((job) => job.slice(0, 16))).toEqual(['dispatched 01-06', 'dispatched 01-06'])
})

test('after a pause that ends by day, jobs have their hour in the next window', async () => {
  const { jobs, pause, resume, take } = await reboots(1, { schedule: night })
  await workAt('2027-01-05T02:00:00Z')
  await pause()
  nowMs = Date.parse('2027-01-05T12:00:00Z')
  await resume()
  await workAt('2027-01-05T14:00:00Z')
  expect(await jobs()).toEqual(['dispatched 01-06T03:00'])
  await workAt('2027-01-06T02:30:00Z')
  expect(await take(0)).toBeDefined()
})

test.each(['retryOne', 'retryAll'] as const)('%s by day gives jobs their hour in the next window', async (verb) => {
  const batch = await reboots(1, { schedule: night })
  await workAt('2027-01-05T02:00:00Z')
  await workAt('2027-01-05T03:00:00Z')
  expect(await batch.read()).toMatchObject({ status: 'finished', counts: { expired: 1 } })
  nowMs = Date.parse('2027-01-05T12:00:00Z')
  await batch[verb]()
  await workAt('2027-01-05T14:00:00Z')
  expect((await batch.jobs())[0]?.slice(-11)).toBe('01-06T03:00')
  await workAt('2027-01-06T02:00:00Z')
  expect(await batch.jobs()).toEqual(['dispatched 01-06T03:00'])
  await workAt('2027-01-06T03:00:00Z')
  expect(await batch.jobs()).toEqual(['expired 01-06T03:00'])
})

test('a lost attempt is repeated in the next weekly window, a week after the lifetime began', async () => {
  const sunday: Schedule = { window: { days: ['sun'], from: '02:00', to: '04:00', timeZone: 'UTC' } }
  const { jobs, take } = await reboots(1, { kind: 'speed_test', schedule: sunday })
  await workAt('2027-01-10T02:00:00Z')
  expect(await take(0)).toMatchObject({ attempt: 1, expiresAt: '2027-01-17T02:00:00.000Z' })
  nowMs = Date.parse('2027-01-10T04:00:00Z')
  await endMissedDeadlines(system)
  await workAt('2027-01-17T02:00:00Z')
  expect(await jobs()).toEqual(['dispatched 01-24T02:00'])
  expect(await take(0)).toMatchObject({ attempt: 2 })
})

test('retries that a replica of the previous version made expire too', async () => {
  const { jobs } = await reboots(1)
  await pool.query('UPDATE job_batch SET expires_at = NULL')
  await pool.query(`UPDATE job SET attempt = 2`)
  await workAt('2027-01-04T13:00:00Z')
  expect(await jobs()).toEqual(['expired 01-04T13:00'])
})

test('a batch whose jobs would expire after the year 9999 is refused with the reason', async () => {
  await expect(reboots(1, { schedule: { startAt: '9999-12-31T23:30:00Z' } })).rejects.toMatchObject({
    status: 400,
    errors: [{ pointer: '/schedule/startAt', detail: expect.stringContaining('after the year 9999') }],
  })
})
