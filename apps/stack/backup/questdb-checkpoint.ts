import { once } from 'node:events'
import pg from 'pg'
import { openQuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'

const applyLimitMs = 10 * 60_000

/** Returns the version of QuestDB, for example 9.3.4. */
export async function readQuestdbVersion(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ build: string }>('SELECT build() AS build')
  const [, version] = /QuestDB (\d+(?:\.\d+)*)/.exec(rows[0]?.build ?? '') ?? []
  if (version === undefined) throw new Error(`QuestDB did not return its version, but "${rows[0]?.build}".`)
  return version
}

/**
 * Throws if QuestDB does not apply everything that it has received so far, or if `signal` aborts. A checkpoint has only the applied rows: those that
 * QuestDB received but did not apply would be in no part of a backup.
 */
export async function applyReceivedRows(url: string, signal: AbortSignal): Promise<void> {
  const questdb = openQuestdbSql(url, { applicationName: 'backup', maxConnections: 1 })
  try {
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted())
    if (await Promise.race([waitUntilApplied(questdb, applyLimitMs), aborted])) return
  } finally {
    await questdb.end()
  }
  throw new Error(
    `QuestDB has not applied the rows that it received within ${applyLimitMs / 60_000} minutes: check for a suspended table with SELECT * FROM wal_tables().`,
  )
}

/**
 * Runs `work` while the files of QuestDB may be copied, and releases the checkpoint in any case. A checkpoint without a
 * backup is from a backup that was killed, because only one backup runs at a time; it is released first.
 */
export async function duringCheckpoint(url: string, client: pg.Client, work: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ in_progress: boolean }>('SELECT in_progress FROM checkpoint_status()')
  if (rows[0]?.in_progress) await client.query('CHECKPOINT RELEASE')
  await client.query('CHECKPOINT CREATE')
  try {
    await work()
  } finally {
    await client.query('CHECKPOINT RELEASE').catch(() => releaseAgain(url))
  }
}

/** Releases the checkpoint on a new connection, because the previous one was lost. */
async function releaseAgain(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  // The statement rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('CHECKPOINT RELEASE')
  } finally {
    await client.end()
  }
}
