import type { QuestdbSql, SqlValue } from '#questdb/server/sql'
import { type Column, type TableName, tables } from '#telemetry/rows/tables'

/** A stored row by column key, as the writer stores it. Times are epoch milliseconds. */
export type StoredRow = { tsMs: number; deviceId: string; organizationId: string; receivedAtMs?: number } & Record<
  string,
  unknown
>

const columnsOf = (table: TableName): Column[] => [
  { name: 'ts', key: 'tsMs', type: 'TIMESTAMP' },
  { name: 'device_id', key: 'deviceId', type: 'SYMBOL' },
  { name: 'org_id', key: 'organizationId', type: 'SYMBOL' },
  ...tables[table].columns,
]

const rowsAtOnce = 200

/** Inserts rows into a table and waits until queries return them. */
export async function storeRows(questdb: QuestdbSql, table: TableName, rows: readonly StoredRow[]): Promise<void> {
  const columns = columnsOf(table)
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const tuples = rows.slice(start, start + rowsAtOnce).map((row) => {
      const filled: StoredRow = { receivedAtMs: row.tsMs, ...row }
      return `(${columns.map((column) => literal(column, filled[column.key])).join(', ')})`
    })
    await questdb.query(
      `INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')}) VALUES ${tuples.join(', ')}`,
    )
  }
  await applied(questdb, table)
}

/** Waits until all rows written to a table or view so far are visible. */
export async function applied(questdb: QuestdbSql, table: string): Promise<void> {
  await questdb.query(`SELECT wait_wal_table('${table}')`)
}

/** Refreshes the coverage views to the state of their tables at the time of the call. */
export async function refreshCoverage(questdb: QuestdbSql, withinMs = 50_000): Promise<void> {
  for (const view of ['coverage_vote_1m', 'coverage_1h', 'coverage_device_1h', 'coverage_moment_1h']) {
    const { base: wanted } = await viewState(questdb, view)
    // Other tests may write at the same time, so wait for the rows that existed, not for an empty queue.
    const isThere = async () => (await viewState(questdb, view)).refreshed >= wanted
    const deadlineMs = Date.now() + withinMs
    for (let polls = 0; !(await isThere()); polls++) {
      if (Date.now() > deadlineMs) throw new Error(`${view} did not refresh.`)
      if (polls % 20 === 0) await questdb.query(`REFRESH MATERIALIZED VIEW ${view} INCREMENTAL`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await applied(questdb, view)
  }
}

/** The newest transaction of the base table, and the newest that the view includes. */
async function viewState(questdb: QuestdbSql, view: string): Promise<{ base: number; refreshed: number }> {
  const [state] = await questdb.query<{ base: string; refreshed: string }>(
    'SELECT base_table_txn base, refresh_base_table_txn refreshed FROM materialized_views() WHERE view_name = $1',
    [view],
  )
  return { base: Number(state?.base ?? 0), refreshed: Number(state?.refreshed ?? -1) }
}

function literal(column: Column, value: unknown): SqlValue {
  if (value === null || value === undefined) return column.type === 'BOOLEAN' ? 'false' : 'null'
  if (column.type === 'TIMESTAMP') return `'${new Date(Number(value)).toISOString()}'`
  if (column.type === 'SYMBOL' || column.type === 'VARCHAR') return `'${String(value).replaceAll("'", "''")}'`
  return String(value)
}
