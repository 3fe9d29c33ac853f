import { createFairQueue } from '#core/fair-queue'
import type { QuestdbSql } from '#questdb/sql'

/** One caller's access to QuestDB. Its queries are scheduled fairly among all callers and stop when it disconnects. */
export type Reader = {
  /** The owner whose share the reads use. */
  owner: string
  questdb: QuestdbSql
  /** Aborts when the caller disconnects. Undefined for work that several callers share. */
  signal: AbortSignal | undefined
  /** Runs a read that needs many queries or much memory. Only a few of these run at the same time. */
  heavy<Result>(work: () => Promise<Result>): Promise<Result>
  /** The same share without the signal, for results that outlive this caller or that others wait for too. */
  detached(): Reader
}

export type Readers = {
  /** A reader for an owner: an organization or platform key, as rate limits count them. */
  of(owner: string, signal?: AbortSignal): Reader
}

// Fewer than QuestDB's workers for SQL, each of which runs one query at a time, so that other queries find a free one.
const maxQueriesPerOwner = 4

// A caller that waits longer gets 429 and may retry.
const maxHeavyWaitMs = 10_000

/** Shares the connections of `questdb` between owners. `maxConnections` is how many it has. */
export function createReaders(questdb: QuestdbSql, maxConnections: number): Readers {
  const queries = createFairQueue({
    maxRunning: maxConnections,
    maxRunningPerOwner: Math.min(maxQueriesPerOwner, Math.ceil(maxConnections / 2)),
    maxWaitingPerOwner: 2_000,
  })
  const heavyReads = createFairQueue({
    maxRunning: 4,
    maxRunningPerOwner: 2,
    maxWaitingPerOwner: 64,
    maxWaitMs: maxHeavyWaitMs,
  })
  const of = (owner: string, signal?: AbortSignal): Reader => ({
    owner,
    signal,
    questdb: {
      query: (text, values) => queries.run(owner, () => questdb.query(text, values, signal), signal),
      queryArrays: (text, values) => queries.run(owner, () => questdb.queryArrays(text, values, signal), signal),
      end: () => questdb.end(),
    },
    heavy: (work) => heavyReads.run(owner, work, signal),
    detached: () => of(owner),
  })
  return { of }
}
