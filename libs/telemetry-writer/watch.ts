import type { Logger } from '#http/request-log'
import type { QuestdbSql } from '#questdb/server/sql'
import { readServerStart, readWalTables, resumeWal, type WalTable } from '#questdb/server/wal-tables'
import { tables as telemetryTables } from '#telemetry/rows/tables'

export type Watch = {
  /** Reads the state once. Rejects if the database does not respond. */
  look(): Promise<void>
  suspendedTables(): number
  /** Queries return all rows that were stored before this time of `performance.now()`. */
  appliedMs(): number
  /** Start time of the server at the last read. */
  serverStartMs(): number | undefined
  /** Returns true once after a restart of the server since the last read. */
  takeRestart(): boolean
  /** Time of the last successful read. */
  lookedAtMs(): number
}

const resumeEveryMs = 30_000

/**
 * Watches whether QuestDB applies the rows that it has accepted: a suspended table still returns 204. `resumes`: whether to
 * resume suspended tables, which one writer of a process does.
 */
export function createWatch(parts: { questdb: QuestdbSql; resumes: boolean; logger: Logger }): Watch {
  const { questdb, resumes, logger } = parts
  let suspended = new Map<string, number>()
  let waiting: { atMs: number; transactions: Map<string, number> } | undefined
  let appliedMs = Number.NEGATIVE_INFINITY
  let startedAtMs: number | undefined
  let restarted = false
  let lookedAtMs = 0

  async function resume(tables: readonly WalTable[], nowMs: number): Promise<void> {
    const next = new Map<string, number>()
    for (const table of tables.filter((candidate) => candidate.suspended)) {
      const triedAtMs = suspended.get(table.name) ?? 0
      if (nowMs - triedAtMs < resumeEveryMs) {
        next.set(table.name, triedAtMs)
        continue
      }
      next.set(table.name, nowMs)
      if (!resumes) continue
      logger.error({ table: table.name, cause: table.error }, 'QuestDB has suspended a table; resuming it')
      await resumeWal(questdb, table).catch(() => {})
    }
    suspended = next
  }

  function follow(all: readonly WalTable[], atMs: number): void {
    const tables = all.filter(({ name }) => Object.hasOwn(telemetryTables, name))
    if (tables.every(({ appliedTxn, sequencerTxn }) => appliedTxn >= sequencerTxn)) {
      appliedMs = atMs
      waiting = undefined
      return
    }
    const applied = new Map(tables.map((table) => [table.name, table.appliedTxn]))
    if (waiting && [...waiting.transactions].every(([name, txn]) => (applied.get(name) ?? txn) >= txn)) {
      appliedMs = waiting.atMs
      waiting = undefined
    }
    waiting ??= { atMs, transactions: new Map(tables.map((table) => [table.name, table.sequencerTxn])) }
  }

  return {
    async look() {
      const atMs = performance.now()
      const serverStartMs = await readServerStart(questdb)
      if (startedAtMs !== undefined && serverStartMs !== startedAtMs) restarted = true
      startedAtMs = serverStartMs
      const tables = await readWalTables(questdb)
      await resume(tables, Date.now())
      follow(tables, atMs)
      lookedAtMs = Date.now()
    },
    suspendedTables: () => suspended.size,
    appliedMs: () => appliedMs,
    serverStartMs: () => startedAtMs,
    takeRestart() {
      const was = restarted
      restarted = false
      return was
    },
    lookedAtMs: () => lookedAtMs,
  }
}
