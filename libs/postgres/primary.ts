import pg from 'pg'
import { errorText } from '#core/error-text'
import { pause } from '#core/schedule'
import { isUnavailable } from '#postgres/errors'

const answerLimitMs = 3_000
/** A primary is used after this time even if other hosts have not answered. */
const othersLimitMs = 200

type Primary = { url: string; timeline: number }

/**
 * Returns a function that asks all hosts and returns the connection string of the primary. Concurrent calls share the
 * answers. An old primary that runs again after a failover has a lower timeline than the new one and is ignored. Rejects
 * with SQLSTATE 08001 if no host is a primary, and with the error of the first host if all refuse the credentials or the
 * database.
 */
export function createPrimaryFinder(urls: readonly string[]): () => Promise<string> {
  let finding: Promise<string> | undefined
  return () => {
    finding ??= findPrimary(urls).finally(() => {
      finding = undefined
    })
    return finding
  }
}

async function findPrimary(urls: readonly string[]): Promise<string> {
  const found: Primary[] = []
  const problems: unknown[] = []
  const asked = urls.map(async (url) => {
    const timeline = await readTimeline(url).catch((error: unknown) => {
      problems.push(error)
      throw error
    })
    found.push({ url, timeline })
  })
  const decided = new AbortController()
  const first = Promise.any(asked).then(() => pause(othersLimitMs, decided.signal))
  await Promise.race([Promise.allSettled(asked), first.catch(() => {})])
  decided.abort()
  const newest = found.toSorted((a, b) => b.timeline - a.timeline)[0]
  if (newest) return newest.url
  if (!problems.some(isUnavailable)) throw problems[0]
  const reasons = problems.map(errorText)
  throw unavailable(`No Postgres server is a primary: ${reasons.join('; ')}`)
}

/** Returns the timeline of a primary, which increases with each failover. Rejects if the server is a standby. */
async function readTimeline(url: string): Promise<number> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'find-primary',
    connectionTimeoutMillis: answerLimitMs,
    query_timeout: answerLimitMs,
    statement_timeout: answerLimitMs,
  })
  // The query rejects when the connection is lost.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ timeline: string | null }>(
      'SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline',
    )
    const timeline = rows[0]?.timeline
    if (!timeline) throw unavailable(`${new URL(url).host} is a standby`)
    return Number.parseInt(timeline, 16)
  } finally {
    client.end().catch(() => {})
  }
}

/** SQLSTATE 08001: the client could not establish a connection. */
const unavailable = (message: string): Error => Object.assign(new Error(message), { code: '08001' })
