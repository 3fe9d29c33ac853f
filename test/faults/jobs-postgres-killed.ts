import type { Fault } from './fault.ts'
import { openJobsScene } from './jobs-scene.ts'

/** Kills Postgres, which also stores the queues, with SIGKILL during a batch and restarts it. */
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
