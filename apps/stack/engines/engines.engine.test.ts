import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { questdbConnection } from '#test/questdb'

const database = await createTestDatabase()
afterAll(database.drop)

test('a test database is a separate, migrated Postgres 18 database', async () => {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const version = await client.query<{ server_version: string }>('SHOW server_version')
  const encoding = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const migrations = await client.query('SELECT name FROM schema_migration')
  await client.end()
  expect(version.rows[0]?.server_version).toMatch(/^18\./)
  expect(encoding.rows[0]?.server_encoding).toBe('UTF8')
  expect(migrations.rowCount).toBeGreaterThan(0)
})

test('QuestDB accepts its own password and rejects the default one, over HTTP and the PostgreSQL wire protocol', async () => {
  const { httpUrl, pgUrl, user, password } = questdbConnection()
  const select = async (credentials: string) => {
    const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
    const response = await fetch(`${httpUrl}/exec?query=select%201`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  expect(await select(`${user}:${password}`)).toBe(200)
  expect(await select('admin:quest')).toBe(401)

  const client = new pg.Client({ connectionString: pgUrl })
  await client.connect()
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  await client.end()
  const stranger = new pg.Client({ connectionString: pgUrl.replace(/\/\/.*@/, '//admin:quest@') })
  await expect(stranger.connect()).rejects.toThrow()
})

test('a line for an unknown table is rejected and does not create the table', async () => {
  const { httpUrl, user, password } = questdbConnection()
  const response = await fetch(`${httpUrl}/write`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
    body: 'nobody_made_this value=1\n',
  })
  await response.arrayBuffer()
  expect(response.status).toBe(400)
})
