import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { isUnavailable } from '#postgres/errors'

const retryMs = 250
const patienceMs = 5_000

/**
 * Resolves once the database answers a query. Waits for as long as it is away or starting; rejects with what waiting
 * does not mend, such as a wrong password.
 */
export async function untilAnswering(url: string): Promise<void> {
  for (;;) {
    try {
      await ask(url)
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await delay(retryMs)
    }
  }
}

async function ask(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
  })
  // Lost in the middle, it says so at the query.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('SELECT 1')
  } finally {
    await client.end().catch(() => {})
  }
}
