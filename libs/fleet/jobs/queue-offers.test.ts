import { afterAll, beforeEach, expect, test } from 'vitest'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { cancelJob, createDeviceJob } from '#fleet/jobs/device-job'
import { type BatchSlice, dispatchSlice } from '#fleet/jobs/dispatch'
import { offerQueuedJobs, type QueuedEntry, reconcileOffers, resetOffers } from '#fleet/jobs/queue-offers'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-outbox.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const nowMs = Date.now()
const cap = 100_000
let offered: QueuedEntry[] = []
let errors: unknown[] = []
beforeEach(async () => {
  await pool.query('TRUNCATE job, job_event, job_batch')
  offered = []
  errors = []
})

const offer = async (_: unknown, entries: readonly QueuedEntry[]) => void offered.push(...entries)
const systemAt = (atMs: number) => ({ pool, clock: () => atMs })
const relay = (limits = { cap }) =>
  offerQueuedJobs(systemAt(nowMs), { ...limits, offer, onError: (error) => errors.push(error) })
const slices = () => offered.flatMap(({ reference }) => ('batchId' in reference ? [reference] : []))
const reboot = ({ ctx, organizationId, groupId }: JobFleet) =>
  createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
const dispatchAll = async (all: readonly BatchSlice[]) => {
  for (const slice of all) await dispatchSlice(systemAt(nowMs), slice)
}

test('a batch is offered in slices that cover each of its jobs once', async () => {
  const fleet = await createJobFleet(pool, 601)
  const { id: batchId } = await reboot(fleet)
  await relay()
  expect(slices()).toEqual([
    { batchId, after: 0, upTo: 500 },
    { batchId, after: 500, upTo: 601 },
  ])
  expect(await relay()).toBe(0)
  await dispatchAll(slices())
  expect(await getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId })).toMatchObject({
    counts: { dispatched: 601 },
  })
})

test('a repeated slice dispatches its jobs once and skips cancelled jobs', async () => {
  const fleet = await createJobFleet(pool, 3)
  const batch = await reboot(fleet)
  await relay()
  await cancelJob(fleet.ctx, { organizationId: fleet.organizationId, jobId: batch.jobs[1]?.id ?? '' })
  await dispatchAll([...slices(), ...slices()])
  const { rows } = await pool.query("SELECT FROM job_event WHERE status = 'dispatched'")
  expect(rows).toHaveLength(2)
  expect(await getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId: batch.id })).toMatchObject({
    counts: { dispatched: 2, cancelled: 1 },
  })
})

test('an organization has at most `cap` jobs in the queue, the last ones with the lowest priority', async () => {
  const fleet = await createJobFleet(pool, 1_100)
  await reboot(fleet)
  await relay({ cap: 1_000 })
  await relay({ cap: 1_000 })
  expect(slices().at(-1)).toMatchObject({ upTo: 1_000 })
  expect(offered.map(({ priority }) => priority)).toEqual([1, 2])
  await dispatchAll(slices().slice(0, 1))
  await relay({ cap: 1_000 })
  expect(slices().at(-1)).toMatchObject({ after: 1_000, upTo: 1_100 })
})

test('lost slices are offered again with their fresh jobs', async () => {
  await reboot(await createJobFleet(pool, 600))
  await relay()
  const first = slices()
  await dispatchAll(first.slice(0, 1))
  expect(await reconcileOffers(systemAt(nowMs + 59_000))).toBe(0)
  expect(await reconcileOffers(systemAt(nowMs + 61_000))).toBe(100)
  await relay()
  expect(slices().slice(first.length)).toEqual(first)
})

test('an error in the turn of one organization does not affect the others', async () => {
  const [one, other] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  const [{ id: failing }, { id: batchId }] = [await reboot(one), await reboot(other)]
  const offer = async (_: unknown, [entry]: readonly QueuedEntry[]) => {
    if (entry && 'batchId' in entry.reference && entry.reference.batchId === failing) throw new Error('poison')
    if (entry) offered.push(entry)
  }
  await offerQueuedJobs(systemAt(nowMs), { cap, offer, onError: (error) => errors.push(error) })
  expect(slices()).toMatchObject([{ batchId }])
  expect(errors).toMatchObject([{ message: 'poison' }])
})

test('after a loss of the queue, slices and single jobs are offered again', async () => {
  const fleet = await createJobFleet(pool, 2)
  await createDeviceJob(fleet.ctx, { deviceId: fleet.deviceIds[0] ?? '', kind: 'speed_test' })
  await reboot(fleet)
  await relay()
  const before = offered
  offered = []
  await resetOffers(systemAt(nowMs))
  await relay()
  expect(before).toHaveLength(2)
  expect(offered).toEqual(before)
})
