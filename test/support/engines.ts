import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '#postgres/migrate'
import { applySchema } from '#questdb/schema/schema'
import { openQuestdbSql } from '#questdb/server/sql'
import { startPostgres } from '../../apps/stack/engines/postgres.ts'
import { startQuestdb } from '../../apps/stack/engines/questdb.ts'
import { shortLivedQuestdb } from './short-lived-questdb.ts'

export type QuestdbConnection = { httpUrl: string; pgUrl: string; user: string; password: string }

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
    questdb: QuestdbConnection
  }
}

/** The migrated database from which test databases are copied. Copying requires that it has no connections. */
export const templateDatabase = 'routerfleet_template'

/**
 * Starts one Postgres and one QuestDB with temporary folders before all test files. Stops and removes them after the last
 * file.
 */
export default async function startEngines(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-test-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  await chmod(dir, 0o711)
  const started = await Promise.allSettled([
    startPostgres({ dir: join(dir, 'postgres'), durable: false }),
    // All tests wait for it.
    startQuestdb({ dir: join(dir, 'questdb'), ...shortLivedQuestdb, yields: false }),
  ])
  const stop = async () => {
    await Promise.all(started.map((engine) => engine.status === 'fulfilled' && engine.value.stop()))
    await rm(dir, { recursive: true, force: true })
  }
  const [postgres, questdb] = started
  try {
    if (postgres.status === 'rejected') throw postgres.reason
    if (questdb.status === 'rejected') throw questdb.reason
    await makeTemplate(postgres.value.url)
    project.provide('postgresUrl', postgres.value.url)
    const { httpUrl, pgUrl, user, password } = questdb.value
    await makeTables(pgUrl)
    project.provide('questdb', { httpUrl, pgUrl, user, password })
  } catch (error) {
    // Vitest calls the teardown only after a successful setup.
    await stop()
    throw error
  }
  return stop
}

async function makeTemplate(postgresUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  await client.query(`CREATE DATABASE ${templateDatabase}`)
  await client.end()
  await migrate(withDatabase(postgresUrl, templateDatabase))
}

async function makeTables(questdbPgUrl: string): Promise<void> {
  const questdb = openQuestdbSql(questdbPgUrl, { applicationName: 'test-schema', maxConnections: 1 })
  await applySchema(questdb, { ttlDays: 90 })
  await questdb.end()
}

/** Returns the connection string for another database on the same server. */
export function withDatabase(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl)
  url.pathname = `/${database}`
  return url.href
}
