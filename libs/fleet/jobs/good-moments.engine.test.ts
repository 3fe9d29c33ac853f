import { afterAll, beforeEach, expect, test } from 'vitest'
import { pauseBatch, resumeBatch, retryBatch } from '#fleet/jobs/batches/control'
import { createBatch, planBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { releaseBatches } from '#fleet/jobs/batches/release'
import type { NewJobDelivery } from '#fleet/jobs/model/good-moment'
import type { Rollout } from '#fleet/jobs/model/rollout'
import type { Schedule } from '#fleet/jobs/model/schedule'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { devicesWithJobs, takeJobs } from './delivery.ts'
import { cancelJob, createDeviceJob, retryJob } from './device-job.ts'
import { dispatchJobs } from './dispatch.ts'
import { type DeviceMoment, storeMoments, waitingDevices, waitingOrganizations } from './moments.ts'
import { reconcileOffers } from './queue-offers.ts'
import { getJob, listJobs } from './read.ts'
import { endMissedDeadlines, expireJobs } from './sweeps.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'good-moments.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const minuteMs = 60_000
let nowMs = Date.now()
const system = { pool, clock: () => nowMs }
beforeEach(async () => {
  await pool.query('TRUNCATE job, job_event, job_batch, device_moment')
  nowMs = Date.now()
})

const good = { when: 'goodSignal', minQuality: 'good' } as const
const iso = (ms: number) => new Date(ms).toISOString()

/** What the worker does: it expires, releases and dispatches jobs. */
async function work() {
  await expireJobs(system)
  await releaseBatches(system)
  await reconcileOffers(system)
  const { rows } = await pool.query<{ jobId: string; attempt: number }>(
    `SELECT id AS "jobId", attempt FROM job WHERE status = 'queued' AND (hold IS NULL OR hold = 'fresh') ORDER BY id`,
  )
  await dispatchJobs(system, rows)
}

/** What the devices of a fleet do, by number. */
function routersOf({ ctx, organizationId, deviceIds }: JobFleet) {
  const identity = (device = 0) => ({ deviceId: deviceIds[device] ?? '', organizationId })
  return {
    /** The device reports a signal that is so old, and whether it dwells. */
    moment: (told: Partial<Omit<DeviceMoment, 'signalAtMs'>> & { ageMs?: number }, device = 0) => {
      const { ageMs = 0, quality = null, dwelling = null } = told
      const signalAtMs = quality === null ? null : Date.now() - ageMs
      return storeMoments(system, [{ ...identity(device), signalAtMs, quality, dwelling }])
    },
    take: async (device = 0) => (await takeJobs(system, [identity(device)])).get(identity(device).deviceId)?.id,
    asks: async () => (await devicesWithJobs(pool, [identity()])).get(identity().deviceId),
    job: (jobId: string) => getJob(ctx, { organizationId, jobId }),
  }
}

async function oneJob(delivery: NewJobDelivery, kind: 'reboot' | 'collect_diagnostics' = 'reboot') {
  const fleet = await createJobFleet(pool, 1, system.clock)
  const { id } = await createDeviceJob(fleet.ctx, { deviceId: fleet.deviceIds[0] ?? '', kind, delivery })
  await work()
  return { ...fleet, id, ...routersOf(fleet) }
}

async function newBatch(
  count: number,
  delivery: NewJobDelivery,
  options: { rollout?: Rollout; schedule?: Schedule; expiresInSeconds?: number } = {},
) {
  const fleet = await createJobFleet(pool, count, system.clock)
  const { ctx, organizationId, groupId } = fleet
  const batch = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId }, delivery, ...options })
  const reference = { organizationId, batchId: batch.id }
  await work()
  return {
    ...fleet,
    ...routersOf(fleet),
    reference,
    jobIds: batch.jobs.map(({ id }) => id),
    read: () => getBatch(ctx, reference),
  }
}

test.each([
  ['noSignal', { quality: 'good', ageMs: 2 * minuteMs + 1_000 }],
  ['noSignal', { dwelling: true }],
  ['signalTooWeak', { quality: 'fair' }],
  ['signalTooWeak', { quality: 'none' }],
  [null, { quality: 'good', ageMs: minuteMs }],
  [null, { quality: 'excellent' }],
] as const)('a job that waits for a good signal is held because of %s after %o', async (reason, told) => {
  const router = await oneJob(good)
  expect(await router.job(router.id)).toMatchObject({ status: 'dispatched', heldBecause: 'noSignal' })
  await router.moment(told)
  expect(await router.job(router.id)).toMatchObject({ status: 'dispatched', heldBecause: reason })
  expect(await router.asks()).toBe(reason === null)
  expect(await router.take()).toBe(reason === null ? router.id : undefined)
  expect((await router.job(router.id)).heldBecause).toBe(reason)
})

test.each([
  ['dwell', { quality: 'none' }, 'notDwelling'],
  ['dwell', { dwelling: true }, null],
  ['goodSignalAndDwell', { quality: 'good' }, 'notDwelling'],
  ['goodSignalAndDwell', { quality: 'poor', dwelling: true }, 'signalTooWeak'],
  ['goodSignalAndDwell', { quality: 'good', dwelling: true }, null],
] as const)('a job that waits for %s, after %o', async (when, told, reason) => {
  const router = await oneJob({ when, minQuality: 'good' })
  await router.moment(told)
  expect((await router.job(router.id)).heldBecause).toBe(reason)
  expect(await router.take()).toBe(reason === null ? router.id : undefined)
})

test('the lowest quality is that of the job', async () => {
  const router = await oneJob({ when: 'goodSignal', minQuality: 'fair' })
  await router.moment({ quality: 'poor' })
  expect(await router.take()).toBeUndefined()
  await router.moment({ quality: 'fair' })
  expect(await router.take()).toBe(router.id)
})

test('a job that was taken is handed out again although the moment is over', async () => {
  const router = await oneJob(good)
  await router.moment({ quality: 'good' })
  expect(await router.take()).toBe(router.id)
  await router.moment({ quality: 'poor' })
  expect(await router.take()).toBe(router.id)
})

test('a moment of a former organization of the device counts no more', async () => {
  const [router, other] = [await oneJob(good), await createJobFleet(pool, 1)]
  await storeMoments(system, [
    {
      deviceId: router.deviceIds[0] ?? '',
      organizationId: other.organizationId,
      signalAtMs: Date.now(),
      quality: 'good',
      dwelling: true,
    },
  ])
  expect((await router.job(router.id)).heldBecause).toBe('noSignal')
  expect(await router.take()).toBeUndefined()
})

test('what a report does not tell remains, unless the device has a new organization', async () => {
  const [router, other] = [
    await oneJob({ when: 'goodSignalAndDwell', minQuality: 'good' }),
    await createJobFleet(pool, 1),
  ]
  await router.moment({ dwelling: true })
  await router.moment({ quality: 'good' })
  await router.moment({})
  expect((await router.job(router.id)).heldBecause).toBeNull()
  const nothing = { signalAtMs: null, quality: null, dwelling: null }
  await storeMoments(system, [
    { deviceId: router.deviceIds[0] ?? '', organizationId: other.organizationId, ...nothing },
  ])
  await router.moment({})
  expect((await router.job(router.id)).heldBecause).toBe('noSignal')
})

test('other jobs of the device go first, and the waiting one follows', async () => {
  const router = await oneJob(good)
  const { id: urgent } = await createDeviceJob(router.ctx, { deviceId: router.deviceIds[0] ?? '', kind: 'reboot' })
  await work()
  expect((await router.job(router.id)).status).toBe('queued')
  expect(await router.take()).toBe(urgent)
  await router.moment({ quality: 'good' })
  expect((await router.job(router.id)).status).toBe('queued')
})

test('of two jobs that wait for different moments, the one whose moment comes goes first', async () => {
  const router = await oneJob(good)
  const delivery = { when: 'dwell', minQuality: 'good' } as const
  const { id: parked } = await createDeviceJob(router.ctx, {
    deviceId: router.deviceIds[0] ?? '',
    kind: 'reboot',
    delivery,
  })
  await work()
  expect((await router.job(parked)).status).toBe('queued')
  const isHeld = async () => (await pool.query(`SELECT FROM job WHERE id = $1 AND hold = 'device'`, [parked])).rowCount
  expect(await isHeld()).toBe(1)
  await router.moment({ quality: 'fair', dwelling: false })
  expect(await isHeld()).toBe(1)
  await router.moment({ quality: 'poor', dwelling: true })
  expect(await isHeld()).toBe(0)
  await work()
  expect(await router.take()).toBe(parked)
})

test('a job that was blocked by one with a good moment goes first when the moment is over', async () => {
  const router = await oneJob(good)
  await router.moment({ quality: 'good' })
  const { id: urgent } = await createDeviceJob(router.ctx, { deviceId: router.deviceIds[0] ?? '', kind: 'reboot' })
  await work()
  expect((await router.job(urgent)).status).toBe('queued')
  await router.moment({ quality: 'poor' })
  await work()
  expect(await router.take()).toBe(urgent)
})

test('an attempt after a missed deadline waits for a good moment again', async () => {
  const router = await oneJob(good, 'collect_diagnostics')
  await router.moment({ quality: 'good' })
  expect(await router.take()).toBe(router.id)
  await router.moment({ quality: 'poor' })
  nowMs += 15 * minuteMs
  await endMissedDeadlines({ ...system, clock: () => nowMs + 10_000 })
  expect(await router.job(router.id)).toMatchObject({ status: 'queued', attempt: 2 })
  nowMs += minuteMs
  await work()
  expect(await router.job(router.id)).toMatchObject({ status: 'dispatched', heldBecause: 'signalTooWeak' })
  expect(await router.take()).toBeUndefined()
  await router.moment({ quality: 'good' })
  expect(await router.take()).toBe(router.id)
})

test('without `latestAt`, a job expires after its lifetime and says why', async () => {
  const router = await oneJob(good)
  await router.moment({ quality: 'poor' })
  nowMs += 60 * minuteMs
  await work()
  expect(await router.job(router.id)).toMatchObject({
    status: 'expired',
    heldBecause: null,
    error: {
      code: 'expired',
      detail: 'The job waited for a good moment of the device and expired: its signal was too weak.',
    },
  })
})

test('at `latestAt` the job is delivered, and the device has the lifetime of the job to take it', async () => {
  const latestAt = iso(nowMs + 1_500)
  const router = await oneJob({ ...good, latestAt, atLatest: 'deliver' })
  const { expiresAt, delivery } = await router.job(router.id)
  expect(Date.parse(expiresAt)).toBe(Date.parse(latestAt) + 60 * minuteMs)
  expect(delivery).toEqual({ ...good, latestAt, atLatest: 'deliver' })
  expect(await router.take()).toBeUndefined()
  await expect.poll(router.take).toBe(router.id)
})

test('with `expire` the job ends at `latestAt`, and cannot be retried', async () => {
  const latestAt = iso(nowMs + 10 * minuteMs)
  const router = await oneJob({ ...good, latestAt, atLatest: 'expire' })
  const reference = { organizationId: router.organizationId, jobId: router.id }
  expect((await router.job(router.id)).expiresAt).toBe(latestAt)
  nowMs += 10 * minuteMs
  await work()
  expect((await router.job(router.id)).status).toBe('expired')
  await expect(retryJob(router.ctx, reference)).rejects.toMatchObject({ status: 409, code: 'delivery_over' })
})

test.each([
  [{ latestAt: iso(Date.now() - 1_000) }, '`latestAt` has passed.'],
  [{ latestAt: '9999-12-31T23:59:59Z', atLatest: 'deliver' as const }, 'after the year 9999'],
])('400 for %o', async (delivery, detail) => {
  const refusal = oneJob({ ...good, ...delivery })
  await expect(refusal).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/delivery/latestAt' }] })
  await expect(refusal).rejects.toThrow(detail)
})

test('400 for a `latestAt` before the start of the schedule', async () => {
  const { ctx, organizationId, groupId } = await createJobFleet(pool, 1)
  const input = { organizationId, kind: 'reboot', target: { groupId } } as const
  const schedule = { startAt: iso(nowMs + 60 * minuteMs) }
  const delivery = { ...good, latestAt: iso(nowMs + 30 * minuteMs) }
  await expect(createBatch(ctx, { ...input, schedule, delivery })).rejects.toMatchObject({ status: 400 })
})

test('a batch whose jobs would expire before its window or its stages begin is refused with the reason', async () => {
  nowMs = Date.parse('2027-01-04T12:00:00Z')
  const { ctx, organizationId, groupId } = await createJobFleet(pool, 3, system.clock)
  const input = { organizationId, kind: 'reboot', target: { groupId } } as const
  const night = { window: { from: '02:00', to: '04:00', timeZone: 'UTC' } }
  const expiring = (latestAt: string) => ({ ...good, latestAt, atLatest: 'expire' as const })
  for (const refused of [
    { schedule: night, delivery: expiring('2027-01-04T18:00:00Z') },
    { rollout: { canary: 1, stageWaitMinutes: 120 }, delivery: expiring('2027-01-04T13:00:00Z') },
    { rollout: { maxPerMinute: 1 }, delivery: expiring('2027-01-04T12:01:30Z') },
  ]) {
    const refusal = { status: 400, errors: [{ pointer: '/delivery/latestAt', code: 'too_early' }] }
    await expect(createBatch(ctx, { ...input, ...refused })).rejects.toMatchObject(refusal)
    await expect(planBatch(ctx, { ...input, ...refused })).rejects.toMatchObject(refusal)
    const delivered = { ...refused, delivery: { ...refused.delivery, atLatest: 'deliver' as const } }
    expect(await createBatch(ctx, { ...input, ...delivered })).toMatchObject({ total: 3 })
  }
})

test('a job whose next window is after its end is not retried', async () => {
  nowMs = Date.parse('2027-01-04T12:00:00Z')
  const { ctx, organizationId, groupId } = await createJobFleet(pool, 1, system.clock)
  const input = { organizationId, kind: 'reboot', target: { groupId } } as const
  const schedule = { window: { from: '02:00', to: '04:00', timeZone: 'UTC' } }
  const delivery = { ...good, latestAt: '2027-01-05T10:00:00Z', atLatest: 'expire' } as const
  const { id: batchId } = await createBatch(ctx, { ...input, schedule, delivery })
  const { items } = await listJobs(ctx, { organizationId, filter: {}, page: { limit: 1, after: undefined } })
  const reference = { organizationId, jobId: items[0]?.id ?? '' }
  nowMs = Date.parse('2027-01-05T05:00:00Z')
  await work()
  await cancelJob(ctx, reference)
  const refusal = { status: 409, code: 'delivery_over' }
  await expect(retryJob(ctx, reference)).rejects.toMatchObject(refusal)
  await expect(retryBatch(ctx, { organizationId, batchId })).rejects.toMatchObject(refusal)
})

test('a batch counts the jobs that are held, by reason', async () => {
  const batch = await newBatch(4, { when: 'goodSignalAndDwell', minQuality: 'good' })
  await batch.moment({ quality: 'poor', dwelling: true }, 0)
  await batch.moment({ quality: 'good' }, 1)
  await batch.moment({ quality: 'good', dwelling: true }, 2)
  expect(await batch.read()).toMatchObject({
    counts: { dispatched: 4 },
    held: 3,
    heldReasons: { noSignal: 1, signalTooWeak: 1, notDwelling: 1 },
  })
  const { items } = await listJobs(batch.ctx, {
    organizationId: batch.organizationId,
    filter: { batchId: batch.reference.batchId },
    page: { limit: 10, after: undefined },
  })
  const reasonOf = new Map(items.map(({ deviceId, heldBecause }) => [deviceId, heldBecause]))
  expect(batch.deviceIds.map((id) => reasonOf.get(id))).toEqual(['signalTooWeak', 'notDwelling', null, 'noSignal'])
  expect(await batch.take(2)).toBe(batch.jobIds[2])
  expect((await batch.read()).held).toBe(3)
})

test('a router whose batch is paused does not wait for a good moment', async () => {
  const batch = await newBatch(1, good)
  expect([await batch.asks(), (await batch.read()).held]).toEqual([false, 1])
  await pauseBatch(batch.ctx, batch.reference)
  expect([await batch.asks(), (await batch.read()).held]).toEqual([undefined, 0])
  expect((await batch.job(batch.jobIds[0] ?? '')).heldBecause).toBeNull()
  await resumeBatch(batch.ctx, batch.reference)
  expect([await batch.asks(), (await batch.read()).held]).toEqual([false, 1])
})

test('a good moment outside the window of a batch delivers nothing', async () => {
  const timeIn = (hours: number) => iso(nowMs + hours * 60 * minuteMs).slice(11, 16)
  const batch = await newBatch(1, good, { schedule: { window: { from: timeIn(2), to: timeIn(4), timeZone: 'UTC' } } })
  await batch.moment({ quality: 'good' })
  expect(await batch.take()).toBeUndefined()
  nowMs += 3 * 60 * minuteMs
  await work()
  expect(await batch.take()).toBe(batch.jobIds[0])
})

test('a stage of a rollout waits for the moments of its devices', async () => {
  const batch = await newBatch(3, good, { rollout: { canary: 1 } })
  expect(await batch.read()).toMatchObject({ counts: { dispatched: 1, queued: 2 }, held: 1 })
  await batch.moment({ quality: 'good' }, 1)
  expect(await batch.take(1)).toBeUndefined()
  await batch.moment({ quality: 'good' }, 0)
  expect(await batch.take(0)).toBe(batch.jobIds[0])
})

test('jobs that a rollout releases after `latestAt` expire, and so does a batch that was paused meanwhile', async () => {
  const latestAt = iso(nowMs + 10 * minuteMs)
  const batch = await newBatch(2, { ...good, latestAt, atLatest: 'expire' }, { rollout: { maxConcurrent: 1 } })
  await pauseBatch(batch.ctx, batch.reference)
  nowMs += 20 * minuteMs
  await work()
  expect((await batch.read()).counts).toMatchObject({ dispatched: 1, queued: 1 })
  await resumeBatch(batch.ctx, batch.reference)
  await work()
  await work()
  expect(await batch.read()).toMatchObject({ status: 'finished', counts: { expired: 2 } })
  await expect(retryBatch(batch.ctx, batch.reference)).rejects.toMatchObject({ status: 409, code: 'delivery_over' })
})

test('only organizations and devices with open jobs that wait are awaited', async () => {
  const [router, plain] = [await oneJob(good), await createJobFleet(pool, 1)]
  await createDeviceJob(plain.ctx, { deviceId: plain.deviceIds[0] ?? '', kind: 'reboot' })
  const ids = [...router.deviceIds, ...plain.deviceIds]
  expect(await waitingOrganizations(pool)).toEqual(new Set([router.organizationId]))
  expect(await waitingDevices(pool, ids)).toEqual(new Set(router.deviceIds))
  const batch = await newBatch(1, good)
  expect(await waitingOrganizations(pool)).toEqual(new Set([router.organizationId, batch.organizationId]))
  nowMs += 60 * minuteMs
  await work()
  expect(await waitingOrganizations(pool)).toEqual(new Set())
  expect(await waitingDevices(pool, ids)).toEqual(new Set())
})
