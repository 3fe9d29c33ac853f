import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { recordedRounds } from '#test/recorded-rounds'
import { eraseDeletedDevices, eraseNightly } from './erasure.ts'

let database: TestDatabase
let pool: OwnedPool
let nowMs: number
let erased: string[][]

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'erasure.test' })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await pool.query('DELETE FROM erasure_request')
  nowMs = Date.UTC(2026, 10, 21, 12)
  erased = []
})

const erasure = () => ({
  pool,
  clock: () => nowMs,
  eraseTelemetry: async (deviceIds: readonly string[]) => erased.push([...deviceIds]),
})

async function request(atMs = nowMs, organizationId = newId()): Promise<string> {
  const deviceId = newId()
  await pool.query('INSERT INTO erasure_request (device_id, organization_id, requested_at) VALUES ($1, $2, $3)', [
    deviceId,
    organizationId,
    new Date(atMs),
  ])
  return deviceId
}

test('every deleted device is erased, and again for a week', async () => {
  const deviceId = await request()
  for (let day = 0; day <= 8; day++) {
    expect(await eraseDeletedDevices(erasure())).toBe(1)
    nowMs += 86_400_000
  }
  expect(erased).toEqual(Array.from({ length: 9 }, () => [deviceId]))
  expect(await eraseDeletedDevices(erasure())).toBe(0)
  expect((await pool.query('SELECT 1 FROM erasure_request')).rowCount).toBe(0)
})

test('a failed erasure is repeated', async () => {
  const deviceId = await request()
  const failing = { ...erasure(), eraseTelemetry: () => Promise.reject(new Error('away')) }
  await expect(eraseDeletedDevices(failing)).rejects.toThrow('away')
  expect(await eraseDeletedDevices(erasure())).toBe(1)
  expect(erased).toEqual([[deviceId]])
})

test('two workers do not erase at the same time', async () => {
  await request()
  const entered = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<number>()
  const slow = {
    ...erasure(),
    eraseTelemetry: () => {
      entered.resolve()
      return finish.promise
    },
  }
  const first = eraseDeletedDevices(slow)
  await entered.promise
  expect(await eraseDeletedDevices(erasure())).toBe(0)
  finish.resolve(1)
  expect(await first).toBe(1)
})

test('the nightly erasure runs once, in its hour', async () => {
  await request()
  expect(await eraseNightly(erasure(), { hourUtc: 3 })).toBe(0)
  nowMs = Date.UTC(2026, 10, 22, 3, 10)
  expect(await eraseNightly(erasure(), { hourUtc: 3 })).toBe(1)
  nowMs += 600_000
  expect(await eraseNightly(erasure(), { hourUtc: 3 })).toBe(0)
})

test('many deleted devices of one organization do not delay those of another', async () => {
  const large = newId()
  await pool.query(
    `INSERT INTO erasure_request (device_id, organization_id, requested_at)
     SELECT uuidv7(), $1, $2 FROM generate_series(1, 450)`,
    [large, new Date(nowMs - 60_000)],
  )
  const deviceId = await request()
  expect(await eraseDeletedDevices(erasure())).toBe(451)
  expect(erased).toHaveLength(3)
  expect(erased[0]).toContain(deviceId)
  expect(new Set(erased.flat()).size).toBe(451)
})

test('a device that cannot be erased does not stop the erasure of other organizations', async () => {
  const organizationId = newId()
  const broken = await request(nowMs - 60_000, organizationId)
  const others = [await request(), await request()]
  const failing = {
    ...erasure(),
    eraseTelemetry: async (deviceIds: readonly string[]) => {
      if (deviceIds.includes(broken)) throw new Error('still readable')
      return erasure().eraseTelemetry(deviceIds)
    },
  }
  const { rounds, failed } = recordedRounds()
  expect(await eraseDeletedDevices(failing, rounds)).toBe(2)
  expect(erased.flat().sort()).toEqual(others.sort())
  expect(failed).toEqual([organizationId])
  nowMs += 1
  expect(await eraseDeletedDevices(erasure(), rounds)).toBe(3)
})
