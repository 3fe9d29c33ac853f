import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from, to } from 'pg-copy-streams'
import type { BackupWriter, Manifest } from './backup-folder.ts'

/** The rows of a table are in this file of the backup, in the text format of COPY. */
const fileOf = (table: string): string => `postgres/${table}.copy`

type Table = Manifest['tables'][number]

const columnsSql = `
  SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_migration'
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  GROUP BY c.relname ORDER BY c.relname`

const referencesSql = `
  SELECT k.conrelid::regclass::text AS name, k.confrelid::regclass::text AS referenced
  FROM pg_constraint k
  WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND k.conrelid <> k.confrelid`

/**
 * Adds all rows of the database as of one time. Queues of BullMQ are not included: they contain references to jobs only.
 * Needs no other right than to read the tables, and no programs of Postgres.
 */
export async function addTables(
  client: pg.Client,
  backup: BackupWriter,
): Promise<Pick<Manifest, 'migrations' | 'tables'>> {
  // After an error, the caller closes the connection, which ends the transaction and a copy in progress.
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const applied = await client.query<{ name: string }>('SELECT name FROM schema_migration ORDER BY name')
  const { rows: tables } = await client.query<Table>(columnsSql)
  const references = await client.query<{ name: string; referenced: string }>(referencesSql)
  const ordered = inInsertOrder(tables, references.rows)
  for (const table of ordered) await backup.add(fileOf(table.name), client.query(to(`COPY ${target(table)} TO STDOUT`)))
  await client.query('COMMIT')
  return { migrations: applied.rows.map(({ name }) => name), tables: ordered }
}

const target = ({ name, columns }: Table): string =>
  `public.${pg.escapeIdentifier(name)} (${columns.map(pg.escapeIdentifier).join(', ')})`

/** Sorts tables so that each one comes after all tables that it references. */
function inInsertOrder(tables: readonly Table[], references: readonly { name: string; referenced: string }[]): Table[] {
  const ordered: Table[] = []
  const isOrdered = (name: string) => ordered.some((table) => table.name === name)
  for (let remaining = [...tables]; remaining.length > 0; ) {
    const ready = remaining.filter(({ name }) =>
      references.every((reference) => reference.name !== name || isOrdered(reference.referenced)),
    )
    if (ready.length === 0)
      throw new Error(`The tables ${remaining.map(({ name }) => name).join(', ')} reference each other.`)
    ordered.push(...ready)
    remaining = remaining.filter((table) => !ready.includes(table))
  }
  return ordered
}

/** Inserts the rows of a backup in one transaction. The database has the schema of the backup and no rows. */
export async function loadTables(client: pg.Client, folder: string, { tables }: Manifest): Promise<void> {
  await client.query('BEGIN')
  for (const table of tables) {
    await pipeline(
      createReadStream(join(folder, fileOf(table.name))),
      client.query(from(`COPY ${target(table)} FROM STDIN`)),
    )
    await advanceSequences(client, table)
  }
  await client.query('COMMIT')
  await client.query('ANALYZE')
}

/** Continues the sequences of a table after the largest value of their columns. */
async function advanceSequences(client: pg.Client, { name, columns }: Table): Promise<void> {
  const table = `public.${pg.escapeIdentifier(name)}`
  for (const column of columns) {
    const { rows } = await client.query<{ sequence: string | null }>(
      'SELECT pg_get_serial_sequence($1, $2) AS sequence',
      [table, column],
    )
    if (!rows[0]?.sequence) continue
    const last = `SELECT max(${pg.escapeIdentifier(column)}) AS value FROM ${table}`
    await client.query(`SELECT setval($1, value) FROM (${last}) WHERE value IS NOT NULL`, [rows[0].sequence])
  }
}

/** Returns whether the database has no tables of the product. */
export async function isEmptyDatabase(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ empty: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r') AS empty`,
  )
  return rows[0]?.empty ?? false
}
