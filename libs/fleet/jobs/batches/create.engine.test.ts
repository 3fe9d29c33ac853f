import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { deleteGroup } from '#fleet/groups/change'
import { removeGroupMember } from '#fleet/groups/members'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { createBatch } from './create.ts'
import { getBatch } from './read.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'job-batches.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

let fleet: Awaited<ReturnType<typeof createJobFleet>>
beforeAll(async () => {
  fleet = await createJobFleet(pool, 5)
})

test('a group batch has one queued job per member', async () => {
  const { ctx, organizationId, groupId, deviceIds } = fleet
  const batch = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
  expect(batch).toMatchObject({ kind: 'reboot', status: 'running', total: 5, counts: { queued: 5 }, skipped: [] })
  expect(batch.jobs.map(({ deviceId }) => deviceId).sort()).toEqual([...deviceIds].sort())
})

test('disabled devices and those of another model are skipped with a reason', async () => {
  const { ctx, organizationId, deviceIds } = await createJobFleet(pool, 4)
  await pool.query(`UPDATE device SET status = 'disabled' WHERE id = $1`, [deviceIds[0]])
  await pool.query(`UPDATE device SET model = 'Other' WHERE id = $1`, [deviceIds[1]])
  const batch = await createBatch(ctx, {
    organizationId,
    kind: 'apply_config',
    target: { deviceIds },
    profile: { id: newId(), name: 'Base', version: 3, model: 'RX400', variables: null },
  })
  expect(batch.total).toBe(2)
  expect(batch.skipped).toEqual(
    expect.arrayContaining([
      { deviceId: deviceIds[0], reason: 'device_disabled' },
      { deviceId: deviceIds[1], reason: 'model_mismatch' },
    ]),
  )
})

test('a batch keeps its jobs and the name of its group when the group changes and is deleted', async () => {
  const { ctx, organizationId, groupId, deviceIds } = await createJobFleet(pool, 2)
  const { id: batchId } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
  const before = await getBatch(ctx, { organizationId, batchId })
  await removeGroupMember(ctx, { organizationId, groupId, deviceId: deviceIds[0] ?? '' })
  await deleteGroup(ctx, { organizationId, groupId, precondition: () => {} })
  expect(await getBatch(ctx, { organizationId, batchId })).toEqual(before)
  expect(before).toMatchObject({ total: 2, target: { groupId }, targetName: expect.any(String) })
})

test('an unknown device rejects the whole batch, and the error lists it', async () => {
  const { ctx, organizationId, deviceIds } = fleet
  const stranger = newId()
  const refused = createBatch(ctx, { organizationId, kind: 'reboot', target: { deviceIds: [...deviceIds, stranger] } })
  await expect(refused).rejects.toMatchObject({ status: 404, members: { deviceIds: [stranger] } })
})

test('a batch without devices finishes at once and publishes its event', async () => {
  const { ctx, organizationId, groupId } = await createJobFleet(pool, 0)
  const batch = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
  expect(batch).toMatchObject({ status: 'finished', total: 0, jobs: [] })
  expect(batch.finishedAt).not.toBeNull()
  const { rows } = await pool.query('SELECT type FROM outbox_event WHERE organization_id = $1', [organizationId])
  expect(rows).toEqual([{ type: 'job_batch.finished' }])
})

test('a suspended organization gets 402', async () => {
  const { ctx, organizationId, groupId } = await createJobFleet(pool, 1)
  await pool.query(`UPDATE organization SET subscription_status = 'suspended' WHERE id = $1`, [organizationId])
  const refused = createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
  await expect(refused).rejects.toMatchObject({ status: 402 })
})
