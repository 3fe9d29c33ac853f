import pg from 'pg'
import { systemClock } from '#core/clock'
import { resetOffers } from '#fleet/jobs/queue-offers'
import { connectionOptions, copyLimits } from '#postgres/connection'
import { listMigrations, migrate } from '#postgres/migrate'
import { openPool } from '#postgres/pool'
import type { Manifest } from './backup-folder.ts'
import { isEmptyDatabase, loadTables } from './postgres-tables.ts'

/**
 * Restores the database of a backup to an empty one at `url`. Applies the migrations that the backup has; the next start of
 * the product applies later ones. Queues are not part of a backup, so all unfinished jobs are offered to them again.
 */
export async function restoreDatabase(backup: string, manifest: Manifest, url: string): Promise<void> {
  const known = new Set(await listMigrations())
  const unknown = manifest.migrations.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new Error(
      `The backup is from a later version, which has the migration ${unknown}: restore it with that version.`,
    )
  const client = new pg.Client({ ...connectionOptions(url, copyLimits), application_name: 'restore' })
  client.on('error', () => {})
  await client.connect()
  try {
    if (!(await isEmptyDatabase(client)))
      throw new Error('The Postgres database is not empty: restore into an empty one.')
    await migrate(url, manifest.migrations)
    await loadTables(client, backup, manifest)
  } finally {
    await client.end()
  }
  const pool = openPool(url, { applicationName: 'restore', maxConnections: 1 })
  try {
    await resetOffers({ pool, clock: systemClock })
  } finally {
    await pool.end()
  }
}
