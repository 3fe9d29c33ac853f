import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { until } from '#test/until'
import { listMigrations, migrate } from './migrate.ts'

const name = `migrate_${randomBytes(6).toString('hex')}`
let server: pg.Client
let url: string
let service: pg.Client
beforeAll(async () => {
  const serverUrl = new URL(inject('postgresUrl'))
  server = new pg.Client({ connectionString: serverUrl.href })
  await server.connect()
  await server.query(`CREATE DATABASE ${name}`)
  serverUrl.pathname = `/${name}`
  url = serverUrl.href
  service = new pg.Client({ connectionString: url })
  await service.connect()
})
afterAll(async () => {
  await service.end()
  await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
  await server.end()
})

const waitsForLock = async () => {
  const { rowCount } = await server.query(
    "SELECT FROM pg_stat_activity WHERE datname = $1 AND application_name = 'migrate' AND wait_event_type = 'Lock'",
    [name],
  )
  return rowCount === 1
}

test('a migration that deadlocks with a service is applied again', async () => {
  const all = await listMigrations()
  await migrate(url, all.slice(0, -1))
  // The service never gives up first, so that the migration is the one that Postgres aborts.
  await service.query("SET deadlock_timeout = '60s'")
  await service.query('BEGIN')
  await service.query('LOCK TABLE schema_migration IN SHARE MODE')
  const migrated = migrate(url)
  await until('the migration has locked its table and waits for the service', waitsForLock)
  await service.query('SELECT count(*) FROM device')
  await service.query('COMMIT')
  expect(await migrated).toEqual(all.slice(-1))
})
