import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#core/clock'
import { cancelBatch, pauseBatch, resumeBatch } from '#fleet/jobs/batches/control'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { reportJob, takeJobs } from '#fleet/jobs/delivery'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { getJob } from '#fleet/jobs/read'
import { createWebhook } from '#fleet/webhooks/webhooks'
import { onBothBackends, type QueueScene, startQueueScene } from '#test/job-backends'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { until } from '#test/until'

onBothBackends('worker', (backend) => {
  let scene: QueueScene
  let pool: QueueScene['pool']
  beforeAll(async () => {
    scene = await startQueueScene(backend)
    pool = scene.pool
  })
  afterAll(() => scene.close())

  const batchOf = (fleet: JobFleet, id: string) =>
    getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId: id })
  const take = async (fleet: JobFleet, deviceId: string) =>
    (await takeJobs({ pool, clock: systemClock }, [{ deviceId, organizationId: fleet.organizationId }])).get(deviceId)
  const report = (
    fleet: JobFleet,
    deviceId: string,
    job: { id: string; attempt: number },
    status: 'succeeded' | 'failed',
  ) =>
    reportJob(
      { pool, clock: systemClock },
      {
        device: { deviceId, organizationId: fleet.organizationId },
        jobId: job.id,
        report: { attempt: job.attempt, status },
      },
    )
  const finishAll = async (fleet: JobFleet) => {
    for (const deviceId of fleet.deviceIds) {
      const job = await until('a job to take', () => take(fleet, deviceId))
      await report(fleet, deviceId, job, 'succeeded')
    }
  }

  test('a batch reaches every device and publishes one event at its end', async () => {
    const fleet = await createJobFleet(pool, 30)
    const { organizationId, groupId, ctx } = fleet
    await createWebhook(ctx, {
      organizationId,
      url: 'https://hooks.invalid/',
      events: ['job.finished', 'job_batch.finished'],
    })
    const { id } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
    await until('all dispatched', async () => (await batchOf(fleet, id)).counts.dispatched === 30)
    await finishAll(fleet)
    expect(await batchOf(fleet, id)).toMatchObject({ status: 'finished', counts: { succeeded: 30, queued: 0 } })
    const waiting = 'SELECT 1 FROM outbox_event WHERE organization_id = $1'
    await until('all relayed', async () => (await pool.query(waiting, [organizationId])).rowCount === 0)
    const { rows } = await pool.query(
      'SELECT type, count(*)::int FROM webhook_delivery WHERE organization_id = $1 GROUP BY type ORDER BY type',
      [organizationId],
    )
    expect(rows).toEqual([
      { type: 'job.finished', count: 30 },
      { type: 'job_batch.finished', count: 1 },
    ])
  })

  test('the second reboot of a device waits for the first, a speed test does not', async () => {
    const fleet = await createJobFleet(pool, 1)
    const [deviceId = ''] = fleet.deviceIds
    const first = await createDeviceJob(fleet.ctx, { deviceId, kind: 'reboot' })
    const second = await createDeviceJob(fleet.ctx, { deviceId, kind: 'firmware_update' })
    const speedTest = await createDeviceJob(fleet.ctx, { deviceId, kind: 'speed_test' })
    const statusOf = async ({ id }: { id: string }) =>
      (await getJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: id })).status
    await until('the first reboot and the speed test are dispatched', async () =>
      [await statusOf(first), await statusOf(speedTest)].every((status) => status === 'dispatched'),
    )
    const taken = await until('the first', () => take(fleet, deviceId))
    expect(taken.id).toBe(first.id)
    expect(await statusOf(second)).toBe('queued')
    await report(fleet, deviceId, taken, 'succeeded')
    await until('second dispatched', async () => (await statusOf(second)) === 'dispatched')
  })

  test('a job that no device takes expires', async () => {
    const fleet = await createJobFleet(pool, 1)
    const job = await createDeviceJob(fleet.ctx, {
      deviceId: fleet.deviceIds[0] ?? '',
      kind: 'reboot',
      expiresInSeconds: 1,
    })
    const expired = await until('expired', async () => {
      const now = await getJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: job.id })
      return now.status === 'expired' && now
    })
    expect(expired.error?.code).toBe('expired')
    expect(expired.history.map(({ status }) => status)).toEqual(['queued', 'dispatched', 'expired'])
  })

  test('a missed deadline is retried as the next attempt', async () => {
    const fleet = await createJobFleet(pool, 1)
    const [deviceId = ''] = fleet.deviceIds
    const job = await createDeviceJob(fleet.ctx, { deviceId, kind: 'speed_test' })
    await until('taken', () => take(fleet, deviceId))
    await pool.query(`UPDATE job SET deadline_at = now() - interval '1 minute', enqueued_at = NULL WHERE id = $1`, [
      job.id,
    ])
    const retried = await until('second attempt', async () => {
      const now = await getJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: job.id })
      return now.attempt === 2 && now
    })
    expect(retried.status).toBe('queued')
    await expect(report(fleet, deviceId, { id: job.id, attempt: 1 }, 'succeeded')).rejects.toMatchObject({
      status: 409,
      code: 'stale_attempt',
    })
  })

  test('a rollout releases the canary first and then at most maxConcurrent jobs at a time', async () => {
    const fleet = await createJobFleet(pool, 8)
    const { organizationId, groupId, ctx } = fleet
    const rollout = { maxConcurrent: 2, canary: 1 }
    const { id } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId }, rollout })
    const out = async () => {
      const { counts } = await batchOf(fleet, id)
      return counts.dispatched + counts.inProgress
    }
    await until('the canary', async () => (await out()) === 1)
    for (let done = 0; done < 8; done += 1) {
      const job = await until('a job somewhere', async () => {
        for (const deviceId of fleet.deviceIds) {
          const found = await take(fleet, deviceId)
          if (found) return { ...found, deviceId }
        }
        return undefined
      })
      expect(await out()).toBeLessThanOrEqual(done === 0 ? 1 : 2)
      await report(fleet, job.deviceId, job, 'succeeded')
    }
    expect((await batchOf(fleet, id)).status).toBe('finished')
  })

  test('a failed canary cancels the other jobs', async () => {
    const fleet = await createJobFleet(pool, 5)
    const { organizationId, groupId, ctx } = fleet
    const { id } = await createBatch(ctx, {
      organizationId,
      kind: 'reboot',
      target: { groupId },
      rollout: { canary: 1 },
    })
    const [deviceId = ''] = fleet.deviceIds
    const job = await until('the canary', () => take(fleet, deviceId))
    await report(fleet, deviceId, job, 'failed')
    await until('the end', async () => (await batchOf(fleet, id)).finishedAt !== null)
    expect(await batchOf(fleet, id)).toMatchObject({ status: 'cancelled', counts: { failed: 1, cancelled: 4 } })
  })

  test('devices take no jobs of a paused batch until it is resumed; a cancelled one ends', async () => {
    const fleet = await createJobFleet(pool, 3)
    const { organizationId, groupId, ctx, deviceIds } = fleet
    const [first = '', second = ''] = deviceIds
    const { id } = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId } })
    await until('dispatched', async () => (await batchOf(fleet, id)).counts.dispatched === 3)
    expect((await pauseBatch(ctx, { organizationId, batchId: id })).status).toBe('paused')
    expect(await take(fleet, first)).toBeUndefined()
    expect((await resumeBatch(ctx, { organizationId, batchId: id })).status).toBe('running')
    const job = await until('handed out', () => take(fleet, first))
    const cancelled = await cancelBatch(ctx, { organizationId, batchId: id })
    expect(cancelled).toMatchObject({ status: 'cancelled', finishedAt: null, counts: { cancelled: 2, inProgress: 1 } })
    expect(await take(fleet, second)).toBeUndefined()
    expect((await take(fleet, first))?.cancelRequested).toBe(true)
    await report(fleet, first, job, 'succeeded')
    expect(await batchOf(fleet, id)).toMatchObject({ status: 'cancelled', counts: { succeeded: 1, cancelled: 2 } })
  })

  test('a batch with startAt is scheduled until then', async () => {
    const fleet = await createJobFleet(pool, 2)
    const { organizationId, groupId, ctx } = fleet
    const startAt = new Date(Date.now() + 1_500).toISOString()
    const { id, status } = await createBatch(ctx, {
      organizationId,
      kind: 'reboot',
      target: { groupId },
      schedule: { startAt },
    })
    expect(status).toBe('scheduled')
    await until('started', async () => (await batchOf(fleet, id)).counts.dispatched === 2)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(startAt))
    expect((await batchOf(fleet, id)).status).toBe('running')
  })
})
