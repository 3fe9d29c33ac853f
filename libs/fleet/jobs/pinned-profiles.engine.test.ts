import { afterAll, beforeEach, expect, test } from 'vitest'
import { applyProfile } from '#fleet/config-profiles/apply'
import { createProfile, deleteProfile, updateProfile } from '#fleet/config-profiles/change'
import { resumeBatch, retryBatch } from '#fleet/jobs/batches/control'
import { releaseBatches } from '#fleet/jobs/batches/release'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { deleteExpired } from '#fleet/retention'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { reportJob, takeJobs } from './delivery.ts'
import { retryJob } from './device-job.ts'
import { dispatchJobs, endOverdueJobs } from './dispatch.ts'
import { getJob } from './read.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'pinned-profiles.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const dayMs = 86_400_000
let nowMs = Date.now()
const clock = () => nowMs
const system = { pool, clock }
beforeEach(() => {
  nowMs = Date.now()
})

const precondition = () => {}
const gone = { status: 409, code: 'profile_gone' }
const rejected = { status: 'rejected', error: { code: 'profile_gone', detail: expect.stringContaining('no longer') } }

/** A fleet, a profile with a secret, and a batch that applies version 1 to all devices, of which none has its job yet. */
async function applied({ devices = 1, rollout }: { devices?: number; rollout?: Rollout } = {}) {
  const { ctx, organizationId, groupId, deviceIds } = await createJobFleet(pool, devices, clock)
  const settings = { apn: 'internet', password: 'correct horse' }
  const profile = {
    organizationId,
    profileId: (await createProfile(ctx, { organizationId, name: 'Depot', settings })).id,
  }
  const batch = await applyProfile(ctx, { ...profile, target: { groupId }, rollout })
  const ids = deviceIds.map((deviceId) => ({
    deviceId,
    jobId: batch.jobs.find((job) => job.deviceId === deviceId)?.id ?? '',
  }))
  const open = async () =>
    (
      await pool.query<{ jobId: string; attempt: number }>(
        `SELECT id AS "jobId", attempt FROM job
         WHERE batch_id = $1 AND status = 'queued' AND hold IS DISTINCT FROM 'rollout'`,
        [batch.id],
      )
    ).rows
  return {
    ctx,
    organizationId,
    profile,
    jobs: ids,
    batch: { organizationId, batchId: batch.id },
    dispatch: async () => dispatchJobs(system, await open()),
    take: async ({ deviceId }: { deviceId: string }) =>
      (await takeJobs(system, [{ deviceId, organizationId }])).get(deviceId),
    report: async (
      { deviceId, jobId }: { deviceId: string; jobId: string },
      status: 'inProgress' | 'succeeded' | 'failed',
      attempt = 1,
    ) => reportJob(system, { device: { deviceId, organizationId }, jobId, report: { attempt, status } }),
    read: ({ jobId }: { jobId: string }) => getJob(ctx, { organizationId, jobId }),
    versions: async () =>
      (
        await pool.query<{ version: number }>(
          'SELECT version FROM config_profile_version WHERE profile_id = $1 ORDER BY version',
          [profile.profileId],
        )
      ).rows.map(({ version }) => version),
    loseVersion: () => pool.query('DELETE FROM config_profile_version WHERE profile_id = $1', [profile.profileId]),
  }
}

type Applied = Awaited<ReturnType<typeof applied>>

/** Each device takes its job and reports this end. */
async function runAll(fleet: Applied, statuses: ('succeeded' | 'failed')[]): Promise<void> {
  await fleet.dispatch()
  for (const [index, status] of statuses.entries()) {
    const job = fleet.jobs[index]
    if (!job) throw new Error('There are more statuses than jobs.')
    await fleet.take(job)
    await fleet.report(job, status)
  }
}

test('deleting a profile keeps the version of a batch that can be retried, and the retry delivers it', async () => {
  const fleet = await applied({ devices: 2 })
  const { ctx, profile, batch } = fleet
  await runAll(fleet, ['failed', 'succeeded'])
  await updateProfile(ctx, { ...profile, change: { settings: { apn: 'other' } }, precondition })
  await deleteProfile(ctx, { ...profile, precondition })
  expect(await fleet.versions()).toEqual([1])

  await retryBatch(ctx, batch)
  await fleet.dispatch()
  const [first] = fleet.jobs
  if (!first) throw new Error('no job')
  expect(await fleet.take(first)).toMatchObject({ attempt: 2, profile: { id: profile.profileId, version: 1 } })
  await fleet.report(first, 'succeeded', 2)
  expect(await deleteExpired(system)).toBe(1)
  expect(await fleet.versions()).toEqual([])
})

test('deleting a profile deletes all versions, with their secrets, when all devices have it', async () => {
  const fleet = await applied()
  await runAll(fleet, ['succeeded'])
  await deleteProfile(fleet.ctx, { ...fleet.profile, precondition })
  expect(await fleet.versions()).toEqual([])
})

test('30 days after its end, a batch of a deleted profile cannot be retried, and the version is deleted', async () => {
  const fleet = await applied()
  await runAll(fleet, ['failed'])
  await deleteProfile(fleet.ctx, { ...fleet.profile, precondition })
  nowMs += 29 * dayMs
  await deleteExpired(system)
  expect(await fleet.versions()).toEqual([1])
  nowMs += 2 * dayMs
  await deleteExpired(system)
  expect(await fleet.versions()).toEqual([])
  const [job] = fleet.jobs
  if (!job) throw new Error('no job')
  await expect(retryBatch(fleet.ctx, fleet.batch)).rejects.toMatchObject(gone)
  await expect(retryJob(fleet.ctx, { ...fleet.batch, jobId: job.jobId })).rejects.toMatchObject(gone)
  expect(await fleet.read(job)).toMatchObject({ status: 'failed', attempt: 1 })
})

test('while the profile exists, a batch can be retried at any time', async () => {
  const fleet = await applied()
  await runAll(fleet, ['failed'])
  nowMs += 400 * dayMs
  await deleteExpired(system)
  expect(await retryBatch(fleet.ctx, fleet.batch)).toMatchObject({ status: 'running', counts: { queued: 1 } })
})

test('a version that a replica of the previous version left behind is kept or deleted in the same way', async () => {
  const [pinned, unused] = [await applied(), await applied()]
  await runAll(pinned, ['failed'])
  await runAll(unused, ['succeeded'])
  for (const { profile } of [pinned, unused])
    await pool.query('DELETE FROM config_profile WHERE id = $1', [profile.profileId])
  await deleteExpired(system)
  expect([await pinned.versions(), await unused.versions()]).toEqual([[1], []])
})

test('the versions of an organization go with it', async () => {
  const fleet = await applied()
  await runAll(fleet, ['failed'])
  await deleteProfile(fleet.ctx, { ...fleet.profile, precondition })
  await pool.query('DELETE FROM device WHERE organization_id = $1', [fleet.organizationId])
  await pool.query('DELETE FROM organization WHERE id = $1', [fleet.organizationId])
  expect(await fleet.versions()).toEqual([])
})

test('a job whose version is gone is rejected when it is dispatched, also a later attempt', async () => {
  const fleet = await applied({ devices: 2 })
  const [first, second] = fleet.jobs
  if (!first || !second) throw new Error('no jobs')
  await fleet.dispatch()
  await fleet.take(first)
  await fleet.report(first, 'inProgress')
  await fleet.loseVersion()
  nowMs += 16 * 60_000
  await endOverdueJobs(system, [{ jobId: first.jobId, attempt: 1 }])
  nowMs += 60_000
  await fleet.dispatch()
  expect(await fleet.read(first)).toMatchObject({ ...rejected, attempt: 2 })
})

test('a job whose version is gone is rejected instead of handed out, also when it is delivered again', async () => {
  const fleet = await applied({ devices: 2 })
  const [taken, waiting] = fleet.jobs
  if (!taken || !waiting) throw new Error('no jobs')
  await fleet.dispatch()
  expect(await fleet.take(taken)).toBeDefined()
  await fleet.loseVersion()
  for (const job of [taken, waiting]) {
    expect(await fleet.take(job)).toBeUndefined()
    expect(await fleet.read(job)).toMatchObject({ ...rejected, attempt: 1 })
  }
  await expect(fleet.report(taken, 'succeeded')).rejects.toMatchObject({ status: 409, code: 'job_final' })
})

test('a batch without a pinned version hands nothing out', async () => {
  const fleet = await applied()
  const [job] = fleet.jobs
  if (!job) throw new Error('no job')
  await fleet.dispatch()
  await pool.query('UPDATE job_batch SET profile_version = NULL WHERE id = $1', [fleet.batch.batchId])
  expect(await fleet.take(job)).toBeUndefined()
  expect(await fleet.read(job)).toMatchObject(rejected)
})

test('a stage of a rollout whose version is gone does not start: 409 for its resumption, and released jobs are rejected', async () => {
  const fleet = await applied({ devices: 2, rollout: { canary: 1, confirmStages: true } })
  await releaseBatches(system)
  await fleet.dispatch()
  for (const job of fleet.jobs) if (await fleet.take(job)) await fleet.report(job, 'succeeded')
  await releaseBatches(system)
  await fleet.loseVersion()
  await expect(resumeBatch(fleet.ctx, fleet.batch)).rejects.toMatchObject(gone)
  // As a resumption by a replica of the previous version.
  await pool.query("UPDATE job_batch SET status = 'running', pause_reason = NULL, confirmed_stages = 1 WHERE id = $1", [
    fleet.batch.batchId,
  ])
  await releaseBatches(system)
  await fleet.dispatch()
  const statuses = await Promise.all(fleet.jobs.map(fleet.read))
  expect(statuses.map(({ status }) => status).sort()).toEqual(['rejected', 'succeeded'])
})

test('a retry and the deletion of its version do not overtake each other', async () => {
  const fleet = await applied()
  await runAll(fleet, ['failed'])
  await deleteProfile(fleet.ctx, { ...fleet.profile, precondition })
  nowMs += 31 * dayMs
  const [retried] = await Promise.allSettled([retryBatch(fleet.ctx, fleet.batch), deleteExpired(system)])
  await deleteExpired(system)
  expect(await fleet.versions()).toEqual(retried.status === 'fulfilled' ? [1] : [])
})
