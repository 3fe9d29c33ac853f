import { setTimeout as delay } from 'node:timers/promises'
import { tables } from '#telemetry/rows/tables'
import type { QuestdbSql } from './sql.ts'

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

/** Resumes applying the write-ahead log of a suspended table. */
export async function resumeWal(questdb: QuestdbSql, table: WalTable): Promise<void> {
  await questdb.query(`ALTER TABLE "${table.name.replaceAll('"', '""')}" RESUME WAL`)
}

/** Returns the start time of the server in epoch milliseconds. After a restart, data in its memory was lost. */
export async function readServerStart(questdb: QuestdbSql): Promise<number> {
  const rows = await questdb.query<{ started_at: number }>('SELECT pg_postmaster_start_time() AS started_at')
  const startedAtMs = rows[0]?.started_at
  if (startedAtMs === undefined) throw new Error('QuestDB did not return its start time.')
  return startedAtMs
}

/**
 * Waits until queries see all rows written to the telemetry tables so far. Returns false after `limitMs`, for example while
 * a table is suspended.
 */
export async function waitUntilApplied(questdb: QuestdbSql, limitMs: number): Promise<boolean> {
  const written = new Map<string, number>()
  let pauseMs = 20
  for (const giveUpAtMs = Date.now() + limitMs; ; await delay(pauseMs)) {
    pauseMs = Math.min(2 * pauseMs, 100)
    const states = (await readWalTables(questdb)).filter(({ name }) => Object.hasOwn(tables, name))
    for (const { name, sequencerTxn } of states) if (!written.has(name)) written.set(name, sequencerTxn)
    if (states.every(({ name, appliedTxn }) => appliedTxn >= (written.get(name) ?? 0))) return true
    if (Date.now() > giveUpAtMs) return false
  }
}
