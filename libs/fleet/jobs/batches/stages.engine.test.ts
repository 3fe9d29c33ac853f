import { afterAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { updateDevice } from '#fleet/devices/update'
import { addFirmware } from '#fleet/firmware/change'
import { reportJob, takeJobs } from '#fleet/jobs/delivery'
import { cancelJob, retryJob } from '#fleet/jobs/device-job'
import { dispatchJobs } from '#fleet/jobs/dispatch'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { resumeBatch, retryBatch } from './control.ts'
import { createBatch } from './create.ts'
import { type Batch, getBatch } from './read.ts'
import { releaseBatches } from './release.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-stages.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const minuteMs = 60_000
let nowMs = Date.now()
const clock = () => nowMs
const system = { pool, clock }
beforeEach(async () => {
  await pool.query('TRUNCATE job, job_event, job_batch')
  nowMs = Date.now()
})

async function startBatch(deviceCount: number, rollout: Rollout) {
  const fleet = await createJobFleet(pool, deviceCount, clock)
  const { ctx, organizationId, groupId } = fleet
  const { id: batchId } = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId }, rollout })
  return { ctx, fleet, reference: { organizationId, batchId } }
}

/** One round of the worker. */
const release = () => releaseBatches(system)

/** Released jobs, all or some, reach their devices, which report this end. Returns how many. */
async function runReleased(
  { organizationId }: JobFleet,
  status: 'succeeded' | 'failed',
  most: number | null = null,
): Promise<number> {
  const { rows } = await pool.query<{ id: string; device_id: string; attempt: number }>(
    `SELECT id, device_id, attempt FROM job WHERE organization_id = $1 AND status = 'queued' AND hold IS NULL
     ORDER BY id LIMIT $2`,
    [organizationId, most],
  )
  await dispatchJobs(
    system,
    rows.map(({ id, attempt }) => ({ jobId: id, attempt })),
  )
  for (const { id: jobId, device_id: deviceId, attempt } of rows) {
    const device = { deviceId, organizationId }
    await takeJobs(system, [device])
    await reportJob(system, { device, jobId, report: { attempt, status, detail: 'As reported.' } })
  }
  return rows.length
}

const stages = (batch: Batch) => batch.stages.map(({ devices, status }) => `${devices} ${status}`)

test('stages run one after the other, with a wait between them', async () => {
  const rollout = { canary: 1, stages: [{ percent: 40 }], stageWaitMinutes: 10 }
  const { ctx, fleet, reference } = await startBatch(10, rollout)
  const read = () => getBatch(ctx, reference)
  expect(stages(await read())).toEqual(['1 waiting', '4 waiting', '5 waiting'])
  await release()
  expect(stages(await read())).toEqual(['1 running', '4 waiting', '5 waiting'])
  expect(await runReleased(fleet, 'succeeded')).toBe(1)
  await release()
  const first = await read()
  expect(stages(first)).toEqual(['1 finished', '4 waiting', '5 waiting'])
  expect(first.stages[0]).toMatchObject({
    startedAt: expect.any(String),
    endedAt: new Date(nowMs).toISOString(),
    counts: { succeeded: 1 },
  })
  nowMs += 9 * minuteMs
  expect(await release()).toBe(0)
  nowMs += minuteMs
  expect(await release()).toBe(4)
  expect(await runReleased(fleet, 'succeeded')).toBe(4)
  await release()
  nowMs += 10 * minuteMs
  expect(await release()).toBe(5)
  expect(await runReleased(fleet, 'succeeded')).toBe(5)
  expect(await read()).toMatchObject({ status: 'finished', pauseReason: null })
  expect(stages(await read())).toEqual(['1 finished', '4 finished', '5 finished'])
})

test('a stage with too many failures pauses the batch, until an operator resumes it', async () => {
  const rollout = { stages: [{ devices: 2 }], pauseWhenFailedPct: 50 }
  const { ctx, fleet, reference } = await startBatch(6, rollout)
  await release()
  expect(await runReleased(fleet, 'failed')).toBe(2)
  await release()
  const paused = await getBatch(ctx, reference)
  expect(paused).toMatchObject({ status: 'paused', pauseReason: 'failures', counts: { failed: 2, queued: 4 } })
  expect(await release()).toBe(0)
  const { rows } = await pool.query(
    `SELECT actor, detail FROM audit_entry WHERE subject_id = $1 AND action = 'job_batch.paused'`,
    [reference.batchId],
  )
  expect(rows).toEqual([{ actor: 'system', detail: { because: 'failures', stage: 1, failed: 2, total: 6 } }])

  await resumeBatch(ctx, reference)
  await release()
  expect(await runReleased(fleet, 'succeeded')).toBe(4)
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'finished', counts: { failed: 2, succeeded: 4 } })
})

test('a batch whose stages are confirmed waits for an operator after each of them', async () => {
  const { ctx, fleet, reference } = await startBatch(3, {
    stages: [{ devices: 1 }, { devices: 1 }],
    confirmStages: true,
  })
  for (const stage of [1, 2]) {
    await release()
    expect(await runReleased(fleet, 'succeeded')).toBe(1)
    await release()
    expect(await getBatch(ctx, reference)).toMatchObject({
      status: 'paused',
      pauseReason: 'stage',
      counts: { succeeded: stage },
    })
    await resumeBatch(ctx, reference)
  }
  await release()
  expect(await runReleased(fleet, 'succeeded')).toBe(1)
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'finished' })
})

test('a batch that was aborted starts with its first stage again when it is retried', async () => {
  const { ctx, fleet, reference } = await startBatch(4, { canary: 1, stages: [{ devices: 1 }] })
  await release()
  await runReleased(fleet, 'failed')
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'cancelled', counts: { failed: 1, cancelled: 3 } })
  const { rows } = await pool.query(`SELECT DISTINCT status, error_code FROM job ORDER BY status`)
  expect(rows).toEqual([
    { status: 'cancelled', error_code: 'rollout_aborted' },
    { status: 'failed', error_code: 'failed' },
  ])
  await retryBatch(ctx, reference)
  expect(await release()).toBe(1)
  expect(await runReleased(fleet, 'succeeded')).toBe(1)
  await release()
  expect(stages(await getBatch(ctx, reference))).toEqual(['1 finished', '1 running', '2 waiting'])
})

test('jobs of later stages that end before the start change nothing for the stages before them', async () => {
  const { ctx, fleet, reference } = await startBatch(8, { canary: 2, stages: [{ devices: 2 }] })
  const { organizationId } = reference
  const ids = (await getBatch(ctx, reference)).jobs.map(({ id }) => id)
  // One of the last stage, and the whole second stage.
  for (const index of [7, 2, 3]) await cancelJob(ctx, { organizationId, jobId: ids[index] ?? '' })

  expect(await release()).toBe(2)
  expect(await release()).toBe(0)
  await runReleased(fleet, 'succeeded')
  expect(await release()).toBe(3)
  expect(stages(await getBatch(ctx, reference))).toEqual(['2 finished', '2 finished', '4 running'])
  await runReleased(fleet, 'succeeded')
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'finished', counts: { succeeded: 5, cancelled: 3 } })
})

test('a device of a later stage that is disabled does not stop the canaries, and a retry leaves it out', async () => {
  const { ctx, fleet, reference } = await startBatch(4, { canary: 1 })
  const { jobs } = await getBatch(ctx, reference)
  await release()
  await updateDevice(ctx, { deviceId: jobs[3]?.deviceId ?? '', change: { status: 'disabled' }, precondition: () => {} })
  expect(await release()).toBe(0)
  await runReleased(fleet, 'failed')
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'cancelled', counts: { rejected: 1, cancelled: 2 } })

  await retryBatch(ctx, reference)
  expect(await release()).toBe(1)
  await runReleased(fleet, 'succeeded')
  expect(await release()).toBe(2)
})

test('failures before the retry of a job no longer cancel its batch, and those after it do', async () => {
  const { ctx, fleet, reference } = await startBatch(10, { maxPerMinute: 4, abortWhenFailedPct: 40 })
  const { organizationId } = reference
  await release()
  expect(await runReleased(fleet, 'failed')).toBe(4)
  await release()
  const { jobs, ...aborted } = await getBatch(ctx, reference)
  expect(aborted).toMatchObject({ status: 'cancelled', counts: { failed: 4, cancelled: 6 } })

  const retry = (index: number) => retryJob(ctx, { organizationId, jobId: jobs[index]?.id ?? '' })
  await retry(9)
  await release()
  expect(await runReleased(fleet, 'succeeded')).toBe(1)
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'finished', counts: { succeeded: 1, failed: 4 } })

  for (const index of [4, 5, 6, 7, 8]) await retry(index)
  await release()
  expect(await runReleased(fleet, 'failed', 3)).toBe(3)
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'running', counts: { failed: 7, queued: 2 } })
  expect(await runReleased(fleet, 'failed', 1)).toBe(1)
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'cancelled', counts: { failed: 8, cancelled: 1 } })
})

test('a retry of a batch without stages is not cancelled because of a disabled device', async () => {
  const { ctx, fleet, reference } = await startBatch(4, { maxPerMinute: 10, abortWhenFailedPct: 25 })
  const { jobs } = await getBatch(ctx, reference)
  await updateDevice(ctx, { deviceId: jobs[0]?.deviceId ?? '', change: { status: 'disabled' }, precondition: () => {} })
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'cancelled', counts: { rejected: 1, cancelled: 3 } })

  nowMs += 1
  await retryBatch(ctx, reference)
  expect(await release()).toBe(3)
  nowMs += 1
  expect(await runReleased(fleet, 'failed', 1)).toBe(1)
  await release()
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'cancelled', counts: { failed: 1, cancelled: 2 } })

  nowMs += 1
  await retryBatch(ctx, reference)
  await release()
  expect(await runReleased(fleet, 'succeeded')).toBe(3)
  expect(await getBatch(ctx, reference)).toMatchObject({ status: 'finished', counts: { succeeded: 3, rejected: 1 } })
})

test('a firmware image skips devices of other models, and the batch keeps what it was', async () => {
  const { ctx, organizationId, groupId, deviceIds } = await createJobFleet(pool, 3)
  await pool.query(`UPDATE device SET model = 'Other' WHERE id = $1`, [deviceIds[0]])
  const image = { version: '7.2', url: 'https://downloads.example.com/fw.bin?key=s3', sha256: 'a'.repeat(64) }
  const { id: firmwareImageId, url } = await addFirmware(ctx, { organizationId, ...image, models: ['RX400'] })
  expect(url).toBe('https://downloads.example.com/fw.bin?redacted')
  const input = { organizationId, kind: 'firmware_update', target: { groupId } } as const
  const batch = await createBatch(ctx, { ...input, firmwareImageId })
  await pool.query('DELETE FROM device_group WHERE id = $1', [groupId])
  expect(batch.total).toBe(2)
  expect(batch.skipped).toEqual([{ deviceId: deviceIds[0], reason: 'model_mismatch' }])
  expect(await getBatch(ctx, { organizationId, batchId: batch.id })).toMatchObject({
    targetName: 'All',
    parameters: { version: '7.2', sha256: image.sha256, url },
    createdBy: 'key:test',
  })
  await expect(createBatch(ctx, { ...input, firmwareImageId: newId() })).rejects.toMatchObject({ status: 404 })
})
