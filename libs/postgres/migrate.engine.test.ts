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

const [locksDevices, nextOne] = ['0100_offline_checks.sql', '0101_online_checks.sql']

test('a migration that waits for a long transaction does not stop the queries of others', async () => {
  const all = await listMigrations()
  await migrate(url, all.slice(0, all.indexOf(locksDevices)))
  const other = new pg.Client({ connectionString: url, statement_timeout: 20_000 })
  await other.connect()
  try {
    await service.query("SET application_name = 'long report'")
    await service.query('BEGIN')
    await service.query('SELECT count(*) FROM device')
    await expect(migrate(url, [locksDevices], { giveUpAfterMs: 0 })).rejects.toThrow(
      /^Migration 0100_offline_checks.sql failed: another connection held a lock for 0 s. Oldest open transactions of others: long report \(process \d+, for \d+ s\). Start again when they have ended.$/,
    )
    const waits: string[] = []
    const migrated = migrate(url, [locksDevices], { onWait: (wait) => waits.push(wait) })
    await until('the migration waits for the service', waitsForLock)
    await other.query('SELECT count(*) FROM device')
    await until('the migration says that it waits', async () => waits.length > 0)
    await service.query('COMMIT')
    expect(await migrated).toEqual([locksDevices])
    expect(waits[0]).toMatch(/^Migration 0100_offline_checks.sql has waited for \d+ s for a lock. .*long report/)
  } finally {
    await other.end()
  }
})

test('a process that migrates waits for another one and says so', async () => {
  await service.query('SELECT pg_advisory_lock(7264115001)')
  const waits: string[] = []
  const migrated = migrate(url, [], { onWait: (wait) => waits.push(wait) })
  await until('it says that it waits', async () => waits.length > 0)
  await service.query('SELECT pg_advisory_unlock(7264115001)')
  expect(await migrated).toEqual([])
  expect(waits[0]).toMatch(/^The start of the migrations has waited for \d+ s for a lock./)
})

test('a migration that deadlocks with a service is applied again', async () => {
  // The service never gives up first, so that the migration is the one that Postgres aborts.
  await service.query("SET deadlock_timeout = '60s'")
  await service.query('BEGIN')
  await service.query('LOCK TABLE schema_migration IN SHARE MODE')
  const migrated = migrate(url, [nextOne])
  await until('the migration has locked its table and waits for the service', waitsForLock)
  await service.query('SELECT count(*) FROM device')
  await service.query('COMMIT')
  expect(await migrated).toEqual([nextOne])
})
