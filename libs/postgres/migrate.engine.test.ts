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

test('older words remain, serials that are equal for people too, and the previous version can add devices', async () => {
  const all = await listMigrations()
  await migrate(url, all.slice(0, all.indexOf('0185_folded_words.sql')))
  await service.query('RESET ALL')
  const organization = '0198c0de-0000-7c3e-9f00-5e3d2b1a0c4f'
  await service.query("INSERT INTO organization (id, name, plan) VALUES ($1, 'Words', 'pro')", [organization])
  const insert = (name: string, serial: string, tags: string[] = []) =>
    service.query(
      `INSERT INTO device (id, organization_id, serial, name, model, tags) VALUES (uuidv7(), $1, $2, $3, 'R', $4)
       ON CONFLICT (organization_id, serial) DO NOTHING`,
      [organization, serial, name, tags],
    )
  await insert('Zu\u0308rich', 'SN-1', ['u\u0308', '\u00fc', 'a;b'])
  await insert('\u0130zmir', 'sn-1')
  await insert('plain', 'Sn-2')
  for (const name of ['Depo\u0302t', 'Dep\u00f4t', 'Gare\u0301']) {
    const values = [organization, name, ['e\u0301', 'bus']]
    await service.query('INSERT INTO device_group VALUES (uuidv7(), $1, $2, $3)', values)
  }
  expect(await migrate(url)).toContain('0188_serials_folded.sql')

  const rowsOf = async (sql: string) => (await service.query({ text: sql, rowMode: 'array' })).rows
  const devices = () =>
    rowsOf('SELECT name, serial, tags, search_folded IS NOT NULL, shares_serial FROM device ORDER BY id')
  const before = [
    ['Z\u00fcrich', 'SN-1', ['\u00fc', 'a;b'], false, false],
    ['\u0130zmir', 'sn-1', [], expect.any(Boolean), true],
    ['plain', 'Sn-2', [], false, false],
  ]
  expect(await devices()).toEqual(before)
  expect(await rowsOf('SELECT name, smart_tags FROM device_group ORDER BY id')).toEqual([
    ['Depo\u0302t', ['\u00e9', 'bus']],
    ['Dep\u00f4t', ['\u00e9', 'bus']],
    ['Gar\u00e9', ['\u00e9', 'bus']],
  ])
  for (const serial of ['sn-1', 'SN-2']) expect((await insert('again', serial)).rowCount).toBe(0)
  expect((await insert('Fu\u00df', 'SN-3')).rowCount).toBe(1)
  const found = await rowsOf("SELECT serial FROM device WHERE search_folded LIKE '%fuss%'")
  expect(found).toEqual([['SN-3']])
})
