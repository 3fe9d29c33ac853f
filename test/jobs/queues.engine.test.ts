import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#core/clock'
import { cancelBatch } from '#fleet/jobs/batches/control'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { reportJob, takeJobs } from '#fleet/jobs/delivery'
import { cancelJob, createDeviceJob, retryJob } from '#fleet/jobs/device-job'
import { dispatchJobs } from '#fleet/jobs/dispatch'
import { getJob } from '#fleet/jobs/read'
import { boundPool, transaction } from '#postgres/pool'
import { onBothBackends, type QueueScene, startQueueScene } from '#test/job-backends'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { until } from '#test/until'

/** What is promised of jobs whichever store their queues are in; apps/worker/worker.engine.test.ts has the plain course. */
onBothBackends('jobs', (backend) => {
  let scene: QueueScene
  beforeAll(async () => {
    scene = await startQueueScene(backend)
  })
  afterAll(() => scene.close())

  const batchOf = (fleet: JobFleet, id: string) =>
    getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId: id })
  const jobOf = (fleet: JobFleet, id: string) => getJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: id })
  const statusIs = (fleet: JobFleet, id: string, status: string) =>
    until(`${id} is ${status}`, async () => {
      const job = await jobOf(fleet, id)
      return job.status === status && job
    })
  const take = async ({ organizationId }: JobFleet, deviceId: string) =>
    (await takeJobs({ pool: scene.pool, clock: systemClock }, [{ deviceId, organizationId }])).get(deviceId)
  const takenBy = (fleet: JobFleet, deviceId: string) => until('a job to take', () => take(fleet, deviceId))
  const report = (
    { organizationId }: JobFleet,
    deviceId: string,
    { id, attempt }: { id: string; attempt: number },
    status: 'inProgress' | 'succeeded' | 'failed',
  ) =>
    reportJob(
      { pool: scene.pool, clock: systemClock },
      { device: { deviceId, organizationId }, jobId: id, report: { attempt, status } },
    )
  const oneRouter = async () => {
    const fleet = await createJobFleet(scene.pool, 1)
    return { fleet, deviceId: fleet.deviceIds[0] ?? '' }
  }
  /** The deadline of a job passes now. */
  const letDeadlinePass = (jobId: string) =>
    scene.pool.query(`UPDATE job SET deadline_at = now() - interval '1 minute', enqueued_at = NULL WHERE id = $1`, [
      jobId,
    ])
  /** Dispatches a job as the queue does after the back-off, which is up to a minute here. */
  const afterBackOff = (jobId: string, attempt: number) =>
    dispatchJobs({ pool: scene.pool, clock: () => Date.now() + 61_000 }, [{ jobId, attempt }])

  test('no more than maxPerMinute go in a minute', async () => {
    const fleet = await createJobFleet(scene.pool, 6)
    const { ctx, organizationId, groupId } = fleet
    const rollout = { maxPerMinute: 4 }
    const { id } = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId }, rollout })
    await until('four went', async () => (await batchOf(fleet, id)).counts.dispatched === 4)
    for (const deviceId of fleet.deviceIds) {
      const job = await take(fleet, deviceId)
      if (job) await report(fleet, deviceId, job, 'succeeded')
    }
    expect((await batchOf(fleet, id)).counts).toMatchObject({ queued: 2, succeeded: 4 })
    await scene.pool.query(
      `UPDATE job_batch SET recent_releases = jsonb_set(recent_releases, '{0,atMs}', '0') WHERE id = $1`,
      [id],
    )
    await until('the others went', async () => (await batchOf(fleet, id)).counts.dispatched === 2)
  })

  test('too many failures cancel the remaining jobs', async () => {
    const fleet = await createJobFleet(scene.pool, 8)
    const { ctx, organizationId, groupId } = fleet
    const rollout = { maxConcurrent: 4, abortWhenFailedPct: 25 }
    const { id } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId }, rollout })
    await until('four went', async () => (await batchOf(fleet, id)).counts.dispatched === 4)
    let failures = 0
    for (const deviceId of fleet.deviceIds) {
      const job = failures < 2 ? await take(fleet, deviceId) : undefined
      if (!job) continue
      await report(fleet, deviceId, job, 'failed')
      failures += 1
    }
    const ended = await until('the end', async () => {
      const batch = await batchOf(fleet, id)
      return batch.finishedAt !== null && batch
    })
    expect(ended).toMatchObject({ status: 'cancelled', counts: { failed: 2, cancelled: 6 } })
  })

  test('outside the window of its schedule no job is handed out', async () => {
    const fleet = await createJobFleet(scene.pool, 1)
    const { ctx, organizationId, groupId } = fleet
    const minuteMs = 60_000
    const time = (atMs: number) => new Date(atMs).toISOString().slice(11, 16)
    const window = {
      from: time(Date.now() + 60 * minuteMs),
      to: time(Date.now() + 120 * minuteMs),
      timeZone: 'UTC',
    }
    const { id, status } = await createBatch(ctx, {
      organizationId,
      kind: 'reboot',
      target: { groupId },
      schedule: { window },
    })
    expect(status).toBe('scheduled')
    const marker = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId } })
    await until('a later batch went', async () => (await batchOf(fleet, marker.id)).counts.dispatched === 1)
    expect((await batchOf(fleet, id)).counts.queued).toBe(1)
    const open = { ...window, from: time(Date.now() - 60 * minuteMs) }
    await scene.pool.query('UPDATE job_batch SET schedule = $2 WHERE id = $1', [id, JSON.stringify({ window: open })])
    await until('the window opened', async () => (await batchOf(fleet, id)).counts.dispatched === 1)
    expect((await batchOf(fleet, id)).status).toBe('running')
  })

  test('cancelling a queued or dispatched job ends it; for a job in progress the device decides', async () => {
    const { fleet, deviceId } = await oneRouter()
    const { ctx, organizationId } = fleet
    const running = await createDeviceJob(ctx, { deviceId, kind: 'reboot' })
    await statusIs(fleet, running.id, 'dispatched')
    const queued = await createDeviceJob(ctx, { deviceId, kind: 'reboot' })
    const waiting = await createDeviceJob(ctx, { deviceId, kind: 'speed_test' })
    await statusIs(fleet, waiting.id, 'dispatched')
    const taken = await takenBy(fleet, deviceId)
    expect(taken.id).toBe(running.id)
    expect((await cancelJob(ctx, { organizationId, jobId: queued.id })).status).toBe('cancelled')
    expect((await cancelJob(ctx, { organizationId, jobId: waiting.id })).status).toBe('cancelled')
    expect((await cancelJob(ctx, { organizationId, jobId: running.id })).status).toBe('inProgress')
    expect(await report(fleet, deviceId, taken, 'inProgress')).toEqual({ status: 'inProgress', cancelRequested: true })
    await report(fleet, deviceId, taken, 'succeeded')
    await expect(cancelJob(ctx, { organizationId, jobId: running.id })).rejects.toMatchObject({
      status: 409,
      code: 'job_final',
    })
    expect(await take(fleet, deviceId)).toBeUndefined()
  })

  test('a job whose deadlines all pass ends timedOut after its last attempt, waiting in between', async () => {
    const { fleet, deviceId } = await oneRouter()
    const { id } = await createDeviceJob(fleet.ctx, { deviceId, kind: 'collect_diagnostics' })
    for (const attempt of [1, 2, 3]) {
      const taken = await takenBy(fleet, deviceId)
      expect(taken).toMatchObject({ id, attempt })
      await letDeadlinePass(id)
      if (attempt === 3) break
      await statusIs(fleet, id, 'queued')
      const { rows } = await scene.pool.query<{ waits: boolean }>(
        `SELECT not_before > now() + interval '20 seconds' AS waits FROM job WHERE id = $1`,
        [id],
      )
      expect(rows).toEqual([{ waits: true }])
      await afterBackOff(id, attempt + 1)
    }
    const ended = await statusIs(fleet, id, 'timedOut')
    expect(ended).toMatchObject({ attempt: 3, error: { code: 'deadline_exceeded' } })
    await expect(report(fleet, deviceId, { id, attempt: 3 }, 'succeeded')).rejects.toMatchObject({ code: 'job_final' })
    await expect(report(fleet, deviceId, { id, attempt: 2 }, 'succeeded')).rejects.toMatchObject({
      code: 'stale_attempt',
    })
  })

  test('a reboot that is not reported ends timedOut at once, and a person may have it done again', async () => {
    const { fleet, deviceId } = await oneRouter()
    const { id } = await createDeviceJob(fleet.ctx, { deviceId, kind: 'reboot' })
    await takenBy(fleet, deviceId)
    await letDeadlinePass(id)
    await statusIs(fleet, id, 'timedOut')
    expect(await retryJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: id })).toMatchObject({
      status: 'queued',
      attempt: 2,
    })
    const again = await takenBy(fleet, deviceId)
    expect(again).toMatchObject({ id, attempt: 2 })
    await report(fleet, deviceId, again, 'succeeded')
    await report(fleet, deviceId, again, 'succeeded')
    const history = (await jobOf(fleet, id)).history.map(({ status }) => status)
    const once = ['queued', 'dispatched', 'inProgress']
    expect(history).toEqual([...once, 'timedOut', ...once, 'succeeded'])
  })

  test('a single job does not stand behind the thousands of another organization', async () => {
    const large = await createJobFleet(scene.pool, 4_000)
    const { fleet, deviceId } = await oneRouter()
    const { organizationId, groupId, ctx } = large
    // Both become visible at once: otherwise a fast machine dispatches the thousands before the single job exists.
    const { id, single } = await transaction(scene.pool, async (connection) => {
      const pool = boundPool(connection)
      const batch = await createBatch({ ...ctx, pool }, { organizationId, kind: 'speed_test', target: { groupId } })
      return { id: batch.id, single: await createDeviceJob({ ...fleet.ctx, pool }, { deviceId, kind: 'speed_test' }) }
    })
    await statusIs(fleet, single.id, 'dispatched')
    const { rows } = await scene.pool.query<{ before: number }>(
      `SELECT count(*)::int AS before FROM job_event e JOIN job j ON j.id = e.job_id
       WHERE j.batch_id = $1 AND e.sequence < (SELECT sequence FROM job_event WHERE job_id = $2)`,
      [id, single.id],
    )
    expect(rows[0]?.before).toBeLessThan(3_000)
    await cancelBatch(ctx, { organizationId, batchId: id })
  })
})
