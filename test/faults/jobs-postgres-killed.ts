import type { Fault } from './fault.ts'
import { openJobsScene } from './jobs-scene.ts'

/** Postgres, which also carries the queues, is killed −9 in the middle of a batch and started again. */
export const jobsPostgresKilled: Fault = {
  name: 'jobs-postgres-killed',
  async run({ quick }) {
    const devices = quick ? 500 : 5_000
    const scene = await openJobsScene({ devices, redis: false })
    try {
      for (const share of quick ? [0.3] : [0.2, 0.4, 0.6]) {
        await scene.progress(devices * share)
        process.kill(scene.postgres.pid, 'SIGKILL')
        await scene.postgres.exited
        await scene.startPostgres()
      }
      return await scene.verify()
    } finally {
      await scene.close()
    }
  },
}
