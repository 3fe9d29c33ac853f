import { afterAll, beforeAll, expect, test } from 'vitest'
import { listAlerts } from '#alerts/inbox/read'
import { readNotified, sentenceOf } from '#alerts/inbox/sentence'
import { applyProfile } from '#fleet/config-profiles/apply'
import { createProfile, deleteProfile, updateProfile } from '#fleet/config-profiles/change'
import { transferDevice } from '#fleet/devices/transfer'
import { reportJob, takeJobs } from '#fleet/jobs/delivery'
import { createDeviceJob, retryJob } from '#fleet/jobs/device-job'
import { dispatchJobs } from '#fleet/jobs/dispatch'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import type { AlertSystem } from './changes.ts'
import { evaluateStored } from './stored.ts'

let database: TestDatabase
let pool: OwnedPool
let system: AlertSystem

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'job-alerts.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const precondition = () => {}

async function newFleet(): Promise<JobFleet & { deviceId: string }> {
  const fleet = await createJobFleet(pool, 2)
  return { ...fleet, deviceId: fleet.deviceIds[0] ?? '' }
}

/** Evaluates the rules twice, because the second time must change nothing. Returns the alerts, newest first. */
async function evaluated({ ctx, organizationId }: JobFleet) {
  await evaluateStored(system)
  expect(await evaluateStored(system)).toBe(0)
  return (await listAlerts(ctx, { organizationId, filter: {}, page: { limit: 10, after: undefined } })).items
}

/** The device takes its queued job and reports how it ended. */
async function runJob(
  { organizationId }: JobFleet,
  { deviceId, jobId, attempt = 1 }: { deviceId: string; jobId: string; attempt?: number },
  status: 'succeeded' | 'failed' | 'rejected',
): Promise<void> {
  const jobs = { pool, clock: Date.now }
  await dispatchJobs(jobs, [{ jobId, attempt }])
  await takeJobs(jobs, [{ deviceId, organizationId }])
  await reportJob(jobs, { device: { deviceId, organizationId }, jobId, report: { attempt, status } })
}

async function newJob({ ctx }: JobFleet, deviceId: string, kind: 'reboot' | 'speed_test'): Promise<string> {
  return (await createDeviceJob(ctx, { deviceId, kind, parameters: {} })).id
}

test('a failed job opens one alert, which ends when a later job of its kind succeeds', async () => {
  const fleet = await newFleet()
  const { deviceId } = fleet
  await newAlertRule(fleet, { kind: 'job_failed' })
  const jobId = await newJob(fleet, deviceId, 'reboot')
  expect(await evaluated(fleet)).toEqual([])
  await runJob(fleet, { deviceId, jobId }, 'rejected')
  const [alert] = await evaluated(fleet)
  expect(alert).toMatchObject({
    kind: 'job_failed',
    deviceId,
    state: 'open',
    measured: { jobId, jobKind: 'reboot', jobStatus: 'rejected' },
  })
  const [notified] = await readNotified(pool, [alert?.id ?? ''])
  expect(notified && sentenceOf(notified)).toMatch(/^job reboot rejected, none succeeded since 20\S+ \d\d:\d\d UTC$/)

  await runJob(fleet, { deviceId, jobId: await newJob(fleet, deviceId, 'speed_test') }, 'succeeded')
  expect(await evaluated(fleet)).toMatchObject([{ state: 'open' }])
  await runJob(fleet, { deviceId, jobId: await newJob(fleet, deviceId, 'reboot') }, 'succeeded')
  expect(await evaluated(fleet)).toMatchObject([{ state: 'closed', closeReason: 'condition_ended' }])
})

test('a retry, or a week, ends the alert of a job; other organizations have none', async () => {
  const [fleet, other] = [await newFleet(), await newFleet()]
  const { ctx, organizationId, deviceId } = fleet
  await newAlertRule(fleet, { kind: 'job_failed' })
  await newAlertRule(other, { kind: 'job_failed' })
  const jobId = await newJob(fleet, deviceId, 'reboot')
  await runJob(fleet, { deviceId, jobId }, 'failed')
  expect(await evaluated(fleet)).toMatchObject([{ state: 'open' }])
  expect(await evaluated(other)).toEqual([])

  const retry = () => retryJob(ctx, { organizationId, jobId })
  const states = async () => (await evaluated(fleet)).map(({ state }) => state)
  await retry()
  expect(await states()).toEqual(['closed'])
  await runJob(fleet, { deviceId, jobId, attempt: 2 }, 'failed')
  expect(await states()).toEqual(['open', 'closed'])
  await runJob(fleet, { deviceId, jobId: await newJob(fleet, deviceId, 'reboot') }, 'succeeded')
  expect(await states()).toEqual(['closed', 'closed'])
  // Created before the job that succeeded, but it ends after it.
  await retry()
  await runJob(fleet, { deviceId, jobId, attempt: 3 }, 'failed')
  expect(await states()).toEqual(['open', 'closed', 'closed'])
  await pool.query("UPDATE job SET finished_at = finished_at - interval '7 days' WHERE id = $1", [jobId])
  expect(await states()).toEqual(['closed', 'closed', 'closed'])
})

test('a job that succeeded with another owner of the device does not end the alert', async () => {
  const [fleet, other] = [await newFleet(), await createJobFleet(pool, 0)]
  const { ctx, deviceId } = fleet
  await newAlertRule(fleet, { kind: 'job_failed' })
  await runJob(fleet, { deviceId, jobId: await newJob(fleet, deviceId, 'reboot') }, 'failed')
  const lend = (toOrgId: string) => transferDevice(ctx, { deviceId, toOrgId, precondition })
  await lend(other.organizationId)
  await runJob(other, { deviceId, jobId: await newJob(other, deviceId, 'reboot') }, 'succeeded')
  await lend(fleet.organizationId)
  expect(await evaluated(fleet)).toMatchObject([{ state: 'open', measured: { jobKind: 'reboot' } }])
})

test('a device without the newest version of its profile opens an alert after the time, until it has it', async () => {
  const fleet = await newFleet()
  const { ctx, organizationId, groupId } = fleet
  const { id: profileId } = await createProfile(ctx, { organizationId, name: 'Depot', settings: { apn: 'one' } })
  const profile = { organizationId, profileId }
  const apply = async (deviceIds: readonly string[]) => {
    const { jobs } = await applyProfile(ctx, { ...profile, target: { groupId } })
    for (const { id: jobId, deviceId } of jobs) {
      await runJob(fleet, { deviceId, jobId }, deviceIds.includes(deviceId) ? 'succeeded' : 'failed')
    }
  }
  await newAlertRule(fleet, { kind: 'profile_not_applied', forMinutes: 60 })
  await apply(fleet.deviceIds)
  await updateProfile(ctx, { ...profile, change: { settings: { apn: 'two' } }, precondition })
  expect(await evaluated(fleet)).toEqual([])

  const age = "UPDATE config_profile_version SET created_at = created_at - interval '61 minutes' WHERE profile_id = $1"
  await pool.query(age, [profileId])
  expect(await evaluated(fleet)).toHaveLength(2)
  const [first = '', second = ''] = fleet.deviceIds
  await updateProfile(ctx, { ...profile, change: { settings: { apn: 'three' } }, precondition })
  await apply([first])
  const after = await evaluated(fleet)
  expect(after.find(({ deviceId }) => deviceId === first)).toMatchObject({ closeReason: 'condition_ended' })
  const open = after.find(({ deviceId }) => deviceId === second)
  expect(open).toMatchObject({
    state: 'open',
    measured: { profileId, profileName: 'Depot', version: 1, newestVersion: 2 },
  })
  const [notified] = await readNotified(pool, [open?.id ?? ''])
  expect(notified && sentenceOf(notified)).toMatch(/^version 1 of the profile Depot instead of 2 since /)

  await deleteProfile(ctx, { ...profile, precondition })
  expect((await evaluated(fleet)).map(({ state }) => state)).toEqual(['closed', 'closed'])
})
