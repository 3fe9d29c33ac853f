import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { connectionOptions } from '#postgres/connection'
import { retryOnDeadlock } from '#postgres/pool'

const folder = new URL('./migrations/', import.meta.url)
// An arbitrary constant. The lock prevents two processes from migrating at the same time.
const advisoryLock = 7_264_115_001

/** Returns the file names of the migrations of this version, in order. */
export const listMigrations = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort()

/**
 * Applies the migrations that the database at `url` lacks, and returns their file names. Each file runs once, in its own
 * transaction; concurrent calls wait for each other. Throws an error that names the migration that failed. `only`: the
 * migrations to apply; default: all of this version.
 */
export async function migrate(url: string, only?: readonly string[]): Promise<string[]> {
  const client = new pg.Client({ ...connectionOptions(url), application_name: 'migrate' })
  // The statement rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  const applied: string[] = []
  try {
    await client.query('SELECT pg_advisory_lock($1)', [advisoryLock])
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migration (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    )
    const { rows } = await client.query<{ name: string }>('SELECT name FROM schema_migration')
    const known = new Set(rows.map((row) => row.name))
    for (const name of only ?? (await listMigrations())) {
      if (known.has(name)) continue
      const text = await readFile(new URL(name, folder), 'utf8')
      // Services that run meanwhile may lock the same tables in another order.
      await retryOnDeadlock(() => apply(client, name, text)).catch((error: unknown) => {
        throw new Error(`Migration ${name} failed: ${error instanceof Error ? error.message : error}`)
      })
      applied.push(name)
    }
  } finally {
    await client.end()
  }
  return applied
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
