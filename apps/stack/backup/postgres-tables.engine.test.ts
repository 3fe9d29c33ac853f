import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { listMigrations, migrate } from '#postgres/migrate'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { createBackup } from './backup-folder.ts'
import { addTables } from './postgres-tables.ts'
import { restoreDatabase } from './restore-database.ts'

const never = new AbortController().signal
let root: string
let source: TestDatabase
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'routerfleet-tables-'))
  source = await createTestDatabase()
})
afterAll(async () => {
  await source.drop()
  await rm(root, { recursive: true, force: true })
})

async function connected<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Creates an empty database without a schema, as an operator does before a restore. */
async function emptyDatabase(): Promise<TestDatabase> {
  const name = `restored_${randomBytes(6).toString('hex')}`
  const url = new URL(inject('postgresUrl'))
  await connected(url.href, (client) => client.query(`CREATE DATABASE ${name}`))
  const target = new URL(url)
  target.pathname = `/${name}`
  return {
    url: target.href,
    drop: async () => void (await connected(url.href, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  }
}

/** Writes a backup that contains only the database. */
async function backUp(name: string, url = source.url) {
  const folder = join(root, name)
  const backup = await createBackup(folder, never)
  const tables = await connected(url, (client) => addTables(client, backup))
  const manifest = await backup.finish({
    startedAt: new Date().toISOString(),
    questdbVersion: '9.3.4',
    hasTelemetryLog: false,
    ...tables,
  })
  return { folder, manifest }
}

/** Returns the rows of every table, without the notes about what the queues contain. */
async function rowsOf(client: pg.Client): Promise<Record<string, string[]>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
     AND relname <> 'schema_migration' ORDER BY 1`,
  )
  const content: Record<string, string[]> = {}
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(
      `SELECT (to_jsonb(t) - 'enqueued_at')::text AS row FROM public.${name} t ORDER BY 1`,
    )
    content[name] = rows.map(({ row }) => row)
  }
  return content
}

const insertJob = `
  INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, lifetime_s, expires_at, created_by,
    enqueued_at)
  SELECT gen_random_uuid(), organization_id, id, 'reboot', true, 'queued', 3, 60, now() + interval '1 hour', 'test', now()
  FROM device`
const insertEvents = `
  INSERT INTO job_event (job_id, at, attempt, status, by) SELECT id, now(), 1, 'dispatched', 'test' FROM job`

/** Fills tables that reference each other, have generated columns and contain characters that COPY escapes. */
async function fillSource(client: pg.Client): Promise<void> {
  const organizationId = await newOrganization(client)
  await newReportingDevices(client, organizationId, 5)
  await client.query('UPDATE device SET name = $1, tags = $2', ['tab\t line\n back\\slash \\N ü', ['a', 'b "c"']])
  await client.query(
    "INSERT INTO config_profile (id, organization_id, name, model) VALUES (gen_random_uuid(), $1, 'Wifi', NULL)",
    [organizationId],
  )
  await client.query(insertJob)
  await client.query(insertEvents)
}

test('a restored database has the same rows, and its sequences continue', async () => {
  await connected(source.url, fillSource)
  const before = await connected(source.url, rowsOf)
  const { folder, manifest } = await backUp('rows')
  expect(manifest.migrations).toEqual(await listMigrations())
  const target = await emptyDatabase()
  try {
    await restoreDatabase(folder, manifest, target.url)
    await connected(target.url, async (client) => {
      const after = await rowsOf(client)
      expect(after).toEqual(before)
      expect(after.job_event).toHaveLength(5)
      // The queues are not restored, so all jobs are offered again.
      expect((await client.query('SELECT FROM job WHERE enqueued_at IS NOT NULL')).rowCount).toBe(0)
      await client.query(insertEvents)
      const { rows } = await client.query('SELECT count(DISTINCT sequence)::int AS count FROM job_event')
      expect(rows).toEqual([{ count: 10 }])
      expect(await migrate(target.url)).toEqual([])
    })
    await expect(restoreDatabase(folder, manifest, target.url)).rejects.toThrow(
      'The Postgres database is not empty: restore into an empty one.',
    )
  } finally {
    await target.drop()
  }
})

test('a backup has all tables as of one time', async () => {
  const folder = join(root, 'one-time')
  const backup = await createBackup(folder, never)
  const names: string[] = []
  let insertedMeanwhile = false
  await connected(source.url, async (client) => {
    await addTables(client, {
      ...backup,
      add: async (path, content) => {
        if (!insertedMeanwhile) {
          insertedMeanwhile = true
          await connected(source.url, (other) => newOrganization(other))
        }
        names.push(path)
        await backup.add(path, content)
      },
    })
  })
  const { rows } = await connected(source.url, (client) =>
    client.query<{ id: string }>('SELECT id FROM organization ORDER BY created_at DESC LIMIT 1'),
  )
  const organizations = await readFile(join(`${folder}.incomplete`, 'postgres/organization.copy'), 'utf8')
  expect(names.indexOf('postgres/organization.copy')).toBeGreaterThan(0)
  expect(organizations).not.toContain(rows[0]?.id)
  expect(organizations).not.toBe('')
})

test('a backup that fails during a table rejects at once', async () => {
  const client = new pg.Client({ connectionString: source.url })
  await client.connect()
  await client.query(
    `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail)
     SELECT gen_random_uuid(), gen_random_uuid(), 'system', 'test', 'test', n::text, to_jsonb(repeat('x', 500))
     FROM generate_series(1, 20000) n`,
  )
  const full = { add: failWhileReading, finish: () => Promise.reject(), discard: () => Promise.resolve() }
  await expect(addTables(client, full)).rejects.toThrow('ENOSPC')
  await client.end()
})

async function failWhileReading(path: string, content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content) if (path.includes('audit_entry')) throw new Error('ENOSPC')
}

test('a backup of a later version is refused with its first unknown migration', async () => {
  const { folder, manifest } = await backUp('later')
  const later = { ...manifest, migrations: [...manifest.migrations, '9999_later.sql'] }
  const target = await emptyDatabase()
  try {
    await expect(restoreDatabase(folder, later, target.url)).rejects.toThrow(
      'The backup is from a later version, which has the migration 9999_later.sql: restore it with that version.',
    )
  } finally {
    await target.drop()
  }
})

test('a backup of an earlier version restores its schema, and a start applies the later migrations', async () => {
  const all = await listMigrations()
  const [earlier, target] = [await emptyDatabase(), await emptyDatabase()]
  try {
    await migrate(earlier.url, all.slice(0, -1))
    await connected(earlier.url, fillSource)
    const { folder, manifest } = await backUp('earlier', earlier.url)
    await restoreDatabase(folder, manifest, target.url)
    expect(await migrate(target.url)).toEqual(all.slice(-1))
    const { rows } = await connected(target.url, (client) => client.query('SELECT count(*)::int AS count FROM device'))
    expect(rows).toEqual([{ count: 5 }])
  } finally {
    await earlier.drop()
    await target.drop()
  }
})
