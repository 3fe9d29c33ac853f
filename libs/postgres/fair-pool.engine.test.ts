import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { createFairPool, type FairPool } from './fair-pool.ts'
import { type Connection, type OwnedPool, openPool, type Pool, transaction } from './pool.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

const maxConnections = 6
let pool: OwnedPool
let fair: FairPool
let blocker: Connection
beforeEach(async () => {
  pool = openPool(database.url, { applicationName: 'test', maxConnections: maxConnections + 1 })
  fair = createFairPool(pool, maxConnections)
  blocker = await pool.connect()
  await blocker.query('SELECT pg_advisory_lock(7)')
})
afterEach(() => pool.end())

/** A transaction that holds its connection until `unlock`. */
const blocked = (share: Pool) =>
  transaction(share, (connection) => connection.query('SELECT pg_advisory_xact_lock_shared(7)'))

async function unlock(): Promise<void> {
  await blocker.query('SELECT pg_advisory_unlock(7)')
  blocker.release()
}

const read = (share: Pool) => share.query<{ one: number }>('SELECT 1 AS one').then(({ rows }) => rows[0]?.one)

test('a bystander reads while two neighbours hold their shares and hundreds of their requests wait', async () => {
  const crowds = ['a', 'b'].flatMap((owner) => Array.from({ length: 200 }, () => blocked(fair.of(owner))))
  await expect.poll(() => pool.totalCount).toBe(5)
  for (let turn = 0; turn < 20; turn += 1) expect(await read(fair.of('bystander'))).toBe(1)
  expect(await read(fair.internal('authentication'))).toBe(1)
  await unlock()
  await Promise.all(crowds)
  expect(pool.idleCount).toBeLessThanOrEqual(maxConnections + 1)
})

test('after 5 s, a request waiting for its own owner gets 429, and one waiting for others 503', async () => {
  const crowd = ['a', 'a', 'b', 'b', 'c', 'c'].map((owner) => blocked(fair.of(owner)))
  const own = expect(read(fair.of('a'))).rejects.toMatchObject({
    status: 429,
    code: 'rate_limited',
    headers: { 'Retry-After': '2' },
  })
  const unavailable = /^timeout exceeded when trying to connect/
  const bystander = expect(read(fair.of('bystander'))).rejects.toThrow(unavailable)
  const internal = expect(read(fair.internal('a'))).rejects.toThrow(unavailable)
  await Promise.all([own, bystander, internal])
  await unlock()
  await Promise.all(crowd)
  expect(await read(fair.of('a'))).toBe(1)
})

test('a failed statement and a failed transaction give their turn to the next', async () => {
  const share = fair.of('a')
  for (let turn = 0; turn < maxConnections; turn += 1) {
    await expect(share.query('SELECT nothing')).rejects.toThrow('nothing')
    await expect(transaction(share, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  }
  expect(await read(share)).toBe(1)
  await unlock()
})
