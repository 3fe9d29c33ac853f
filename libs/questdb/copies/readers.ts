import { createFairQueue } from '#core/fair-queue'
import type { QuestdbSql } from '#questdb/server/sql'
import type { ReadCopy } from './copies.ts'

/**
 * One caller's access to one copy of QuestDB. Its queries are scheduled fairly among all callers and stop when it
 * disconnects.
 */
export type Reader = {
  /** The owner whose share the reads use. */
  owner: string
  copy: ReadCopy
  questdb: QuestdbSql
  /** Aborts when the caller disconnects. Undefined for work that several callers share. */
  signal: AbortSignal | undefined
  /** Runs a read that needs many queries or much memory. Only a few of these run at the same time. */
  heavy<Result>(work: () => Promise<Result>): Promise<Result>
  /** The same share and copy with another signal or none, for results that outlive this caller or that others wait for. */
  detached(signal?: AbortSignal): Reader
}

export type Readers = {
  /**
   * A reader of the present copy for an owner: an organization or platform key, as rate limits count them. A request uses
   * one reader for all of its queries.
   */
  of(owner: string, signal?: AbortSignal): Reader
}

// Fewer than QuestDB's workers for SQL, each of which runs one query at a time, so that other queries find a free one.
const maxQueriesPerOwner = 4

// A caller that waits longer gets 429 and may retry.
const maxHeavyWaitMs = 10_000

/** Shares the connections of the present copy between owners. `maxConnections` is how many each copy has. */
export function createReaders(copies: { current(): ReadCopy }, maxConnections: number): Readers {
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
  const readerOf = (copy: ReadCopy, owner: string, signal: AbortSignal | undefined): Reader => ({
    owner,
    copy,
    signal,
    questdb: sharedSql(copy.questdb, (work) => queries.run(owner, work, signal), signal),
    heavy: (work) => heavyReads.run(owner, work, signal),
    detached: (other) => readerOf(copy, owner, other),
  })
  return { of: (owner, signal) => readerOf(copies.current(), owner, signal) }
}

type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

const sharedSql = (questdb: QuestdbSql, inTurn: InTurn, signal: AbortSignal | undefined): QuestdbSql => ({
  query: (text, values) => inTurn(() => questdb.query(text, values, signal)),
  queryArrays: (text, values) => inTurn(() => questdb.queryArrays(text, values, signal)),
  end: () => questdb.end(),
})
