import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { insertOrganization } from '#fleet/organizations/organizations'
import { boundPool, type OwnedPool, openPool, transaction } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { seedDevices } from '#test/seed-devices'
import { tenantTransaction } from './tenant.ts'

let database: TestDatabase
let pool: OwnedPool
let mine: string
let others: string

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'tenant test' })
  mine = (await insertOrganization(pool, 'Mine', 'pro')).id
  others = (await insertOrganization(pool, 'Others', 'pro')).id
  await seedDevices(pool, mine, 2)
  await seedDevices(pool, others, 3)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const countAll = 'SELECT count(*)::int AS count FROM device'

test('a statement without an organization sees only the rows of the transaction’s organizations', async () => {
  const seen = (organizations: string[]) =>
    tenantTransaction(
      { pool },
      organizations,
      async (db) => (await db.query<{ count: number }>(countAll)).rows[0]?.count,
    )
  expect(await seen([mine])).toBe(2)
  expect(await seen([mine, others])).toBe(5)
  expect((await pool.query<{ count: number }>(countAll)).rows[0]?.count).toBe(5)
})

test('rows of another organization can be neither changed nor inserted', async () => {
  await tenantTransaction({ pool }, [mine], async (db) => {
    expect((await db.query('UPDATE device SET name = $1', ['taken over'])).rowCount).toBe(2)
    expect((await db.query('DELETE FROM organization WHERE id = $1', [others])).rowCount).toBe(0)
  })
  const intrude = tenantTransaction({ pool }, [mine], (db) =>
    db.query("INSERT INTO device (id, organization_id, serial, name, model) VALUES ($1, $2, 'X', 'X', 'X')", [
      newId(),
      others,
    ]),
  )
  await expect(intrude).rejects.toThrow(/row-level security/)
})

test('every table with an organization has row level security', async () => {
  const { rows } = await pool.query<{ relname: string }>(
    `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND NOT c.relrowsecurity ORDER BY 1`,
  )
  // A platform key has no organization, and idempotency records are found by a digest of the caller.
  expect(rows.map(({ relname }) => relname)).toEqual(['api_key', 'idempotency_record'])
})

test('row level security ends with its transaction, also inside a larger one', async () => {
  await transaction(pool, async (outer) => {
    await tenantTransaction({ pool: boundPool(outer) }, [mine], async (db) => db.query(countAll))
    expect((await outer.query<{ count: number }>(countAll)).rows[0]?.count).toBe(5)
  })
})

test('two transactions that deadlock both succeed', async () => {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM device WHERE organization_id = $1', [mine])
  const [one, other] = rows.map(({ id }) => id)
  const met = Promise.withResolvers<void>()
  let locked = 0
  const rename = (name: string, first: string | undefined, second: string | undefined) =>
    tenantTransaction({ pool }, [mine], async (db) => {
      await db.query('UPDATE device SET name = $2 WHERE id = $1', [first, name])
      locked += 1
      if (locked === 2) met.resolve()
      await met.promise
      await db.query('UPDATE device SET name = $2 WHERE id = $1', [second, name])
    })
  await Promise.all([rename('a', one, other), rename('b', other, one)])
  // Postgres may end both when both find the deadlock in the same moment.
  expect(locked).toBeGreaterThan(2)
})
