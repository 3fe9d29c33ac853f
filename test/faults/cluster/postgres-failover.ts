import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresPair, startPostgresPair } from '#test/postgres-pair'
import type { Finding } from '../fault.ts'
import type { ClusterFault } from './fault.ts'
import { runRounds } from './run-rounds.ts'
import { openClusterScene } from './scene.ts'

/**
 * Runs a cluster on a Postgres server with a synchronous standby. Kills the primary and promotes the standby. For the next
 * round, the killed server becomes the standby.
 */
export async function runFailover(quick: boolean): Promise<Finding[]> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-pair-'))
  // Postgres does not run as root: its user must be able to enter this folder.
  await chmod(dir, 0o711)
  try {
    const pair = await startPostgresPair(dir)
    try {
      const scene = await openClusterScene({ postgresUrl: pair.url })
      return await runRounds(scene, failover(pair), quick).finally(scene.close)
    } finally {
      await pair.stop()
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const failover = (pair: PostgresPair): ClusterFault => ({
  name: 'postgres-failover',
  apiErrors: 'recovery',
  async prepare({ round }) {
    if (round > 0) await pair.rebuild()
  },
  cause: pair.failOver,
})
