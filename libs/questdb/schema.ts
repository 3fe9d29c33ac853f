import type { QuestdbSql } from '#questdb/sql'
import { views } from '#questdb/views'
import { addColumnSql, createTableSql, tables } from '#telemetry/tables'

/**
 * Migrates QuestDB to the schema of this version: creates missing tables, columns and views, and rebuilds views whose
 * definition changed. Existing rows do not change. `ttlDays`: retention of rows. Several processes may run it at the same
 * time; an error of one that finds an object busy passes when it tries again.
 */
export async function applySchema(questdb: QuestdbSql, options: { ttlDays: number }): Promise<void> {
  const { ttlDays } = options
  for (const table of Object.values(tables)) {
    await questdb.query(createTableSql(table, ttlDays))
    const known = await questdb.query<{ column: string }>(`SHOW COLUMNS FROM ${table.name}`)
    const present = new Set(known.map(({ column }) => column))
    for (const column of table.columns) {
      if (!present.has(column.name)) await questdb.query(addColumnSql(table, column))
    }
    await questdb.query(`ALTER TABLE ${table.name} SET TTL ${ttlDays} DAYS`)
  }
  await applyViews(questdb, ttlDays)
}

type ViewRow = { view_name: string; view_sql: string }

async function applyViews(questdb: QuestdbSql, ttlDays: number): Promise<void> {
  const known = await questdb.query<ViewRow>('SELECT view_name, view_sql FROM materialized_views()')
  const definitions = new Map(known.map((row) => [row.view_name, wordsOf(row.view_sql)]))
  const outdated = views.findIndex(({ name, create }) => {
    const definition = definitions.get(name)
    return definition === undefined || !wordsOf(create(ttlDays)).includes(definition)
  })
  if (outdated < 0) return
  // Views depend on each other: drop all from the first changed one in reverse order, then create them in order. Another
  // process may create the missing ones at the same time.
  const stale = views.slice(outdated)
  for (const { name } of [...stale].reverse()) {
    if (definitions.has(name)) await questdb.query(`DROP MATERIALIZED VIEW IF EXISTS ${name}`)
  }
  for (const { create } of stale) await questdb.query(create(ttlDays))
}

const wordsOf = (sql: string): string => sql.replace(/\s+/g, ' ').trim()
