import type { QuestdbSql } from '#questdb/sql'

/** How far a table's log of writes has been applied; a suspended one takes writes but does not apply them. */
export type WalTable = {
  name: string
  suspended: boolean
  sequencerTxn: number
  appliedTxn: number
  error: string | null
}

type WalRow = { name: string; suspended: boolean; writerTxn: string; sequencerTxn: string; errorMessage: string | null }

/** The state of all tables whose writes go through a log. */
export async function readWalTables(questdb: QuestdbSql): Promise<WalTable[]> {
  const rows = await questdb.query<WalRow>(
    'SELECT name, suspended, "writerTxn", "sequencerTxn", "errorMessage" FROM wal_tables()',
  )
  return rows.map((row) => ({
    name: row.name,
    suspended: row.suspended,
    sequencerTxn: Number(row.sequencerTxn),
    appliedTxn: Number(row.writerTxn),
    error: row.errorMessage || null,
  }))
}

/** Asks QuestDB to go on applying a suspended table's log where it stopped. */
export async function resumeWal(questdb: QuestdbSql, table: WalTable): Promise<void> {
  await questdb.query(`ALTER TABLE "${table.name.replaceAll('"', '""')}" RESUME WAL`)
}

/** When the server was started, in epoch milliseconds: a new value means that it has lost what it held in memory. */
export async function readServerStart(questdb: QuestdbSql): Promise<number> {
  const rows = await questdb.query<{ started_at: number }>('SELECT pg_postmaster_start_time() AS started_at')
  const startedAtMs = rows[0]?.started_at
  if (startedAtMs === undefined) throw new Error('QuestDB does not say when it was started.')
  return startedAtMs
}
