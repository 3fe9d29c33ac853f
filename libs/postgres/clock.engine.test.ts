import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { followDatabaseClock } from './clock.ts'
import { openPool } from './pool.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'test', maxConnections: 1 })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Returns how far the clock is ahead of Postgres in milliseconds, after its first measurement. */
async function aheadOf(own: () => number): Promise<number> {
  const following = followDatabaseClock(pool, own)
  await following.measured
  const { rows } = await pool.query<{ now_ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms',
  )
  const aheadMs = following.clock() - (rows[0]?.now_ms ?? 0)
  await following.stop()
  return aheadMs
}

test.each([-90_000, 90_000])('a clock that is off by %i ms follows Postgres', async (offMs) => {
  expect(Math.abs(await aheadOf(() => Date.now() + offMs))).toBeLessThan(5_000)
})

test('a clock that agrees within a second is not changed', async () => {
  const following = followDatabaseClock(pool, () => 42 + Date.now())
  await following.measured
  const beforeMs = Date.now() + 42
  const nowMs = following.clock()
  expect(nowMs).toBeGreaterThanOrEqual(beforeMs)
  expect(nowMs).toBeLessThanOrEqual(Date.now() + 42)
  await following.stop()
})

test('while Postgres is unavailable, the clock is that of the machine', async () => {
  const away = { query: () => Promise.reject(new Error('away')) } as unknown as typeof pool
  const following = followDatabaseClock(away, () => 7)
  await following.measured
  expect(following.clock()).toBe(7)
  await following.stop()
})
