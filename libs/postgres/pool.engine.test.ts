import { expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { queryEntities, queryEntity } from './entities.ts'
import { isUnavailable } from './errors.ts'
import { openPool, transaction } from './pool.ts'

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

test('entities have times as the API writes them, and named parameters', async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test', maxConnections: 1 })
  try {
    await pool.query("SET TIME ZONE 'Asia/Kolkata'")
    const statement = `SELECT $name AS name, $at::timestamptz AS "createdAt", NULL::timestamptz AS "endedAt", '{"a": 1}'::jsonb AS detail,
      '2026-11-27 01:02:03.9999+00'::timestamptz AS "lastSeenAt" WHERE $name = ANY ($names::text[])`
    const values = { name: 'Depot', at: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 67)), names: ['Depot'] }
    expect(await queryEntities(pool, statement, values)).toEqual([
      {
        name: 'Depot',
        createdAt: '2026-01-02T03:04:05.067Z',
        endedAt: null,
        detail: { a: 1 },
        lastSeenAt: '2026-11-27T01:02:03.999Z',
      },
    ])
    // Other queries still return dates.
    const { rows } = await pool.query<{ now: unknown }>('SELECT now()')
    expect(rows[0]?.now).toBeInstanceOf(Date)
    await expect(queryEntity(pool, statement, { ...values, names: [] })).rejects.toThrow('returned no row')
  } finally {
    await pool.end()
    await database.drop()
  }
})

test('Postgres ends a wait for a lock, a statement and a forgotten transaction', async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  const hasty = openPool(`${database.url}?lock_timeout=100&idle_in_transaction_session_timeout=100`, {
    applicationName: 'test',
  })
  try {
    const { rows } = await pool.query(
      `SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement,
         current_setting('idle_in_transaction_session_timeout') AS idle`,
    )
    expect(rows).toEqual([{ lock: '10s', statement: '30s', idle: '1min' }])
    await transaction(pool, async (connection) => {
      await connection.query('LOCK TABLE device')
      const waiting = hasty.query('SELECT FROM device').catch((error: unknown) => error)
      expect(isUnavailable(await waiting)).toBe(true)
    })
    const forgotten = transaction(hasty, async (connection) => {
      const ended = new Promise((resolve) => connection.once('end', resolve))
      await ended
      await connection.query('SELECT 1')
    })
    expect(isUnavailable(await forgotten.catch((error: unknown) => error))).toBe(true)
  } finally {
    await hasty.end()
    await pool.end()
    await database.drop()
  }
})
