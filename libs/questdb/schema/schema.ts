import type { QuestdbSql } from '#questdb/server/sql'
import { addColumnSql, createTableSql, keyOf, setKeySql, tables } from '#telemetry/rows/tables'
import { createViewSql, type View, views } from './views.ts'

/**
 * Migrates QuestDB to the schema of this version: creates missing tables, columns and views, sets the keys of tables, and
 * rebuilds views whose definition changed. Existing rows do not change. `ttlDays`: retention of rows. Several processes may run it at the same
 * time; an error of one that finds an object busy passes when it tries again.
 */
export async function applySchema(questdb: QuestdbSql, options: { ttlDays: number }): Promise<void> {
  const { ttlDays } = options
  for (const table of Object.values(tables)) {
    await questdb.query(createTableSql(table, ttlDays))
    const known = await columnsOf(questdb, table.name)
    const present = new Set(known.map(({ column }) => column))
    for (const column of table.columns) {
      if (!present.has(column.name)) await questdb.query(addColumnSql(table, column))
    }
    // Earlier versions told rows apart by time and device alone.
    const keys = new Set(known.filter(({ upsertKey }) => upsertKey).map(({ column }) => column))
    if (keyOf(table).some((column) => !keys.has(column))) await questdb.query(setKeySql(table))
    if ((await ttlHoursOf(questdb, table.name)) !== ttlDays * hoursOf.DAY)
      await questdb.query(`ALTER TABLE ${table.name} SET TTL ${ttlDays} DAYS`)
  }
  await applyViews(questdb, ttlDays)
}

/** Returns whether QuestDB has the tables, columns and views of this version, so that queries can be answered. */
export async function hasSchema(questdb: QuestdbSql): Promise<boolean> {
  const rows = await questdb.query<{ name: string }>('SELECT table_name name FROM tables()')
  const known = new Set(rows.map(({ name }) => name))
  if (![...Object.values(tables), ...views].every(({ name }) => known.has(name))) return false
  for (const { name, columns } of Object.values(tables)) {
    const present = new Set((await columnsOf(questdb, name)).map(({ column }) => column))
    if (!columns.every((column) => present.has(column.name))) return false
  }
  return true
}

/** QuestDB returns a retention in the largest unit that divides it. */
const hoursOf: Record<string, number> & { DAY: number } = { HOUR: 1, DAY: 24, WEEK: 168 }

/**
 * Returns the retention of a table; NaN if it is none in hours. It is only set if it differs: QuestDB would write the metadata of
 * the table again, and a QuestDB that is killed meanwhile does not find the table.
 */
async function ttlHoursOf(questdb: QuestdbSql, table: string): Promise<number> {
  const [known] = await questdb.query<{ ttlValue: number; ttlUnit: string }>(
    'SELECT ttlValue, ttlUnit FROM tables() WHERE table_name = $1',
    [table],
  )
  return Number(known?.ttlValue) * (hoursOf[known?.ttlUnit ?? ''] ?? Number.NaN)
}

const columnsOf = (questdb: QuestdbSql, table: string) =>
  questdb.query<{ column: string; upsertKey: boolean }>(`SHOW COLUMNS FROM ${table}`)

/**
 * Rebuilds views from the first one that is missing or whose query changed. `materialized_views()` leaves out a view while
 * QuestDB writes its state, so it cannot tell which are missing.
 */
async function applyViews(questdb: QuestdbSql, ttlDays: number): Promise<void> {
  const rows = await questdb.query<{ name: string }>('SELECT table_name name FROM tables() WHERE matView')
  const known = new Set(rows.map(({ name }) => name))
  const isCurrent = async (view: View) => known.has(view.name) && (await queryIsOf(questdb, view))
  let current = 0
  for (const view of views) {
    if (!(await isCurrent(view))) break
    current += 1
  }
  // Views depend on each other: drop all from the first outdated one in reverse order, then create them in order. Another
  // process may create the missing ones at the same time.
  const outdated = views.slice(current)
  for (const { name } of [...outdated].reverse()) {
    if (known.has(name)) await questdb.query(`DROP MATERIALIZED VIEW IF EXISTS ${name}`)
  }
  for (const view of outdated) await questdb.query(createViewSql(view, ttlDays))
}

async function queryIsOf(questdb: QuestdbSql, { name, query }: View): Promise<boolean> {
  const [definition] = await questdb.query<{ ddl: string }>(`SHOW CREATE MATERIALIZED VIEW ${name}`)
  return wordsOf(definition?.ddl ?? '').includes(`AS ( ${wordsOf(query)} )`)
}

const wordsOf = (sql: string): string => sql.replace(/\s+/g, ' ').trim()
