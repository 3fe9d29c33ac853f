import { expect, test } from 'vitest'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'

test('opens the next connection when the last idle one is taken, up to the limit', async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test', maxConnections: 3, keepOpen: 3 })
  try {
    const first = await pool.connect()
    await expect.poll(() => pool.idleCount).toBe(1)
    const second = await pool.connect()
    await expect.poll(() => pool.idleCount).toBe(1)
    expect(pool.totalCount).toBe(3)
    const third = await pool.connect()
    const waiting = pool.connect()
    first.release()
    ;(await waiting).release()
    expect(pool.totalCount).toBe(3)
    for (const connection of [second, third]) connection.release()
  } finally {
    await pool.end()
    await database.drop()
  }
})

test('opens connections only on demand without keepOpen', async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test', maxConnections: 3 })
  try {
    await pool.query('SELECT 1')
    expect(pool.totalCount).toBe(1)
  } finally {
    await pool.end()
    await database.drop()
  }
})
