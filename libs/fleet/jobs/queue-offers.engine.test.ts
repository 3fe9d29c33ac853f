import { afterAll, beforeEach, expect, test } from 'vitest'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { countOpenTransactions } from '#test/open-transactions'
import { recordedRounds } from '#test/recorded-rounds'
import { cancelJob, createDeviceJob } from './device-job.ts'
import { type BatchSlice, dispatchSlice } from './dispatch.ts'
import { offerDeadlines, offerQueuedJobs, type QueuedEntry, reconcileOffers, resetOffers } from './queue-offers.ts'

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

test('lost jobs of an organization are offered again although those of another cannot be repaired', async () => {
  const [broken, other] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  for (const { ctx, deviceIds } of [broken, other]) {
    await createDeviceJob(ctx, { deviceId: deviceIds[0] ?? '', kind: 'speed_test' })
  }
  await relay()
  const repair = await failFor(pool, 'job', broken.organizationId)
  for (const repairJobs of [reconcileOffers, resetOffers]) {
    const { rounds, failed } = recordedRounds()
    expect(await repairJobs(systemAt(nowMs + 61_000), rounds)).toBe(1)
    expect(failed).toEqual([broken.organizationId])
    await pool.query('UPDATE job SET enqueued_at = $2 WHERE organization_id = $1', [
      other.organizationId,
      new Date(nowMs),
    ])
  }
  await repair()
  expect(await reconcileOffers(systemAt(nowMs + 61_000))).toBe(2)
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

/** A batch of two jobs, a single job, and a job that its device has taken. */
async function threeKinds() {
  const fleet = await createJobFleet(pool, 3)
  const [first = '', second = ''] = fleet.deviceIds
  await reboot(fleet)
  await createDeviceJob(fleet.ctx, { deviceId: first, kind: 'speed_test' })
  const taken = await createDeviceJob(fleet.ctx, { deviceId: second, kind: 'speed_test' })
  await pool.query(`UPDATE job SET status = 'inProgress', deadline_at = $2 WHERE id = $1`, [taken.id, new Date(nowMs)])
}
const relayAll = async (offer: (kind: unknown, entries: readonly QueuedEntry[]) => Promise<void>) => {
  await offerQueuedJobs(systemAt(nowMs), { cap, offer, onError: (error) => errors.push(error) })
  return offerDeadlines(systemAt(nowMs), { offer })
}

test('no transaction is open while the queue is called, and another worker neither waits nor offers the same jobs', async () => {
  await threeKinds()
  const open: number[] = []
  await relayAll(async () => void open.push(await countOpenTransactions(pool)))
  expect(open).toEqual([0, 0, 0])
  await resetOffers(systemAt(nowMs))
  await relayAll(async (kind, entries) => {
    await offer(kind, entries)
    await relayAll(offer)
  })
  expect(slices()).toHaveLength(1)
  expect(offered).toHaveLength(3)
})

test('what the queue refuses is offered again in the next round', async () => {
  await threeKinds()
  const refused: QueuedEntry[] = []
  const refuse = async (_: unknown, entries: readonly QueuedEntry[]) => {
    refused.push(...entries)
    throw new Error('OOM command not allowed')
  }
  // A refused batch ends the turn of its organization. The single job is refused when its batch has been offered.
  await expect(relayAll(refuse)).rejects.toThrow('OOM')
  await expect(
    relayAll((kind, entries) => (kind === 'batch' ? offer(kind, entries) : refuse(kind, entries))),
  ).rejects.toThrow('OOM')
  await relayAll(offer)
  const idsOf = (entries: readonly QueuedEntry[]) => new Set(entries.map(({ reference }) => JSON.stringify(reference)))
  expect(idsOf(offered)).toEqual(idsOf(refused))
  expect(offered).toHaveLength(3)
})

test('what a worker did not offer before it crashed is offered a minute later, with the same ids', async () => {
  await threeKinds()
  const lost: QueuedEntry[] = []
  const crash = new Promise<void>(() => {})
  for (let call = 0; call < 2; call += 1)
    await new Promise<void>((resolve) => {
      void relayAll(async (_, entries) => {
        lost.push(...entries)
        resolve()
        return crash
      })
    })
  expect(await relay()).toBe(0)
  await reconcileOffers(systemAt(nowMs + 61_000))
  await relay()
  expect(offered).toEqual(lost)
  expect(offered).toHaveLength(2)
})
