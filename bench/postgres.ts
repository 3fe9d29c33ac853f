import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '#postgres/migrate'
import { type OwnedPool, openPool } from '#postgres/pool'
import { startPostgres } from '../apps/stack/engines/postgres.ts'

export type BenchPostgres = { url: string; pool: OwnedPool; close: () => Promise<void> }

/** A migrated Postgres in a temporary folder, for benchmarks that need no other engine. */
export async function openBenchPostgres(): Promise<BenchPostgres> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-bench-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  await chmod(dir, 0o711)
  const postgres = await startPostgres({ dir: join(dir, 'postgres') })
  await migrate(postgres.url)
  const pool = openPool(postgres.url, { applicationName: 'bench' })
  return {
    url: postgres.url,
    pool,
    close: async () => {
      await pool.end()
      await postgres.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
