import { describe, test } from 'vitest'
import { parseConfig } from '#core/config'
import { createLogger } from '#http/request-log'
import { type OwnedPool, openPool } from '#postgres/pool'
import { configSchema } from '../../apps/worker/config.ts'
import { startWorker } from '../../apps/worker/start.ts'
import { createTestDatabase } from './database.ts'
import { workerEnvironment } from './job-service.ts'
import { hasRedis, startRedis } from './redis.ts'

export type QueueScene = { pool: OwnedPool; close(): Promise<void> }

/** Starts a worker on a new database, with queues in that database or in a new Redis. */
export async function startQueueScene(backend: string, settings: Record<string, string> = {}): Promise<QueueScene> {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  const redis = backend === 'Redis' ? await startRedis() : undefined
  const config = parseConfig(configSchema, { ...workerEnvironment(database.url, redis?.url), ...settings })
  const worker = await startWorker(config, createLogger('worker', 'silent'), () => false)
  return {
    pool,
    async close() {
      await worker.stop()
      await redis?.stop()
      await pool.end()
      await database.drop()
    },
  }
}

const redisHere = await hasRedis()
if (!redisHere) console.log('skipped: jobs on Redis, because redis-server is not installed')

/** Runs the same tests on both queue backends. Skips Redis if there is no redis-server. */
export const onBothBackends = (what: string, tests: (backend: string) => void): void =>
  describe.each(['Postgres', 'Redis'])(`${what}, queues in %s`, (backend) => {
    if (backend === 'Redis' && !redisHere) return test.skip('redis-server is not installed', () => {})
    return tests(backend)
  })
