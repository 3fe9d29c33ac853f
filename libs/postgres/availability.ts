import pg from 'pg'
import { pause } from '#core/schedule'
import { connectionOptions } from '#postgres/connection'
import { isUnavailable } from '#postgres/errors'

const retryMs = 250
const timeoutMs = 5_000

/**
 * Resolves once the database answers a query. Waits while it is unavailable or starting; rejects with any other error, such
 * as a wrong password.
 */
export async function waitUntilAvailable(url: string): Promise<void> {
  for (;;) {
    try {
      await queryOnce(url)
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await pause(retryMs)
    }
  }
}

async function queryOnce(url: string): Promise<void> {
  const client = new pg.Client({
    ...connectionOptions(url),
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  // The query rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('SELECT 1')
  } finally {
    await client.end().catch(() => {})
  }
}
