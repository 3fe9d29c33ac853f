import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { connectionOptions, migrationLimits } from '#postgres/connection'
import { isLockTimeout } from '#postgres/errors'
import { retryOnDeadlock } from '#postgres/pool'
import { waitForLocks } from '#postgres/wait-for-locks'

const folder = new URL('./migrations/', import.meta.url)
// An arbitrary constant. The lock prevents two processes from migrating at the same time.
const advisoryLock = 7_264_115_001

/** Returns the file names of the migrations of this version, in order. */
export const listMigrations = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort()

type MigrationOptions = {
  /** Receives a sentence that says what waits, for how long, and for whom. */
  onWait?: (wait: string) => void
  giveUpAfterMs?: number
}

/**
 * Applies the migrations that the database at `url` lacks, and returns their file names. Each file runs once, in its own
 * transaction; concurrent calls wait for each other. A migration waits for a table that a backup or a long query reads, without
 * stopping the queries of others. Throws an error that names the migration that failed. `only`: the migrations to apply;
 * default: all of this version.
 */
export async function migrate(
  url: string,
  only?: readonly string[],
  options: MigrationOptions = {},
): Promise<string[]> {
  const client = new pg.Client({ ...connectionOptions(url, migrationLimits), application_name: 'migrate' })
  // The statement rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  const applied: string[] = []
  try {
    await withWaits(client, 'The start of the migrations', options, () =>
      client.query('SELECT pg_advisory_lock($1)', [advisoryLock]),
    )
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migration (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    )
    const { rows } = await client.query<{ name: string }>('SELECT name FROM schema_migration')
    const known = new Set(rows.map((row) => row.name))
    for (const name of only ?? (await listMigrations())) {
      if (known.has(name)) continue
      const text = await readFile(new URL(name, folder), 'utf8')
      await withWaits(client, `Migration ${name}`, options, () => apply(client, name, text)).catch((error: unknown) => {
        throw new Error(`Migration ${name} failed: ${error instanceof Error ? error.message : error}`)
      })
      applied.push(name)
    }
  } finally {
    await client.end()
  }
  return applied
}

/** Runs work again after a deadlock, because services that run meanwhile may lock the same tables in another order, and after a lock timeout. */
async function withWaits<Result>(
  client: pg.Client,
  subject: string,
  { onWait, giveUpAfterMs = 30 * 60_000 }: MigrationOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const onWaitForLock = async (waitedMs: number) => {
    const waited = `${subject} has waited for ${Math.round(waitedMs / 1_000)} s for a lock.`
    onWait?.(`${waited} ${await otherTransactions(client)}`)
  }
  try {
    return await waitForLocks(() => retryOnDeadlock(work), { giveUpAfterMs, onWait: onWaitForLock })
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    throw new Error(
      `another connection held a lock for ${Math.round(giveUpAfterMs / 1_000)} s. ${await otherTransactions(client)} ` +
        'Start again when they have ended.',
    )
  }
}

/** Returns a sentence that names the oldest open transactions of other connections, which may hold the lock. */
async function otherTransactions(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ text: string }>(
    `SELECT format('%s (process %s, for %s s)', coalesce(nullif(application_name, ''), 'unnamed'), pid,
       round(extract(epoch FROM now() - xact_start))) AS text
     FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
     ORDER BY xact_start LIMIT 3`,
  )
  if (rows.length === 0) return 'A backup, a long query or another migration may hold it.'
  return `Oldest open transactions of others: ${rows.map(({ text }) => text).join(', ')}.`
}

async function apply(client: pg.Client, name: string, text: string): Promise<void> {
  try {
    await client.query('BEGIN')
    await client.query(text)
    await client.query('INSERT INTO schema_migration (name) VALUES ($1)', [name])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}
