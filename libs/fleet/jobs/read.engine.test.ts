import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBatch } from '#fleet/jobs/batches/create'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { createDeviceJob } from './device-job.ts'
import { type JobFilter, listJobs } from './read.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-reads.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

let fleet: JobFleet
/** Every job of the fleet in order of creation: a single one, a batch of 3, two single ones, a batch of 3 for the group. */
let created: string[]
let batchIds: string[]
beforeAll(async () => {
  fleet = await createJobFleet(pool, 3)
  const { ctx, organizationId, groupId, deviceIds } = fleet
  const stranger = await createJobFleet(pool, 2)
  const single = async () => [(await createDeviceJob(ctx, { deviceId: deviceIds[0] ?? '', kind: 'speed_test' })).id]
  const batch = async (target: { groupId: string } | { deviceIds: string[] }) => {
    const { id, jobs } = await createBatch(ctx, { organizationId, kind: 'reboot', target })
    batchIds.push(id)
    return jobs.map((job) => job.id)
  }
  batchIds = []
  created = [...(await single()), ...(await batch({ deviceIds }))]
  await createBatch(stranger.ctx, {
    organizationId: stranger.organizationId,
    kind: 'reboot',
    target: { groupId: stranger.groupId },
  })
  created.push(...(await single()), ...(await single()), ...(await batch({ groupId })))
})

async function listed(filter: JobFilter, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: string | undefined
  do {
    const page = await listJobs(fleet.ctx, { organizationId: fleet.organizationId, filter, page: { limit, after } })
    ids.push(...page.items.map(({ id }) => id))
    after = page.nextAfter ?? undefined
  } while (after !== undefined)
  return ids
}

test.each([1, 2, 4, 100])('lists single and batch jobs newest first, %i per page', async (limit) => {
  expect(await listed({}, limit)).toEqual(created.toReversed())
})

test.each([
  ['kind', () => ({ kind: 'speed_test' }) as const, [0, 4, 5]],
  ['batch', () => ({ batchId: batchIds[0] }), [1, 2, 3]],
  ['group', () => ({ groupId: fleet.groupId }), [6, 7, 8]],
  ['device and batch', () => ({ deviceId: fleet.deviceIds[0], batchId: batchIds[1] }), [6]],
  ['status without jobs', () => ({ status: 'failed' }) as const, []],
])('a filter by %s leaves out the others', async (_, filter, places) => {
  expect(await listed(filter(), 2)).toEqual(places.map((place) => created[place]).toReversed())
})

test('the jobs of a device include single and batch jobs', async () => {
  const { ctx, organizationId, deviceIds } = fleet
  const page = await listJobs(ctx, {
    organizationId,
    filter: { deviceId: deviceIds[0] },
    page: { limit: 10, after: undefined },
  })
  expect(page.items.map(({ batchId }) => batchId)).toEqual([batchIds[1], null, null, batchIds[0], null])
  expect(new Set(page.items.map(({ deviceId }) => deviceId))).toEqual(new Set([deviceIds[0]]))
})
