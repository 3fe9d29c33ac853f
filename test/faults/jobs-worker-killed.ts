import type { Fault, Finding } from './fault.ts'
import { openJobsScene } from './jobs-scene.ts'

/** Kills the worker repeatedly with SIGKILL during a batch, on both queue backends. */
export const jobsWorkerKilled: Fault = {
  name: 'jobs-worker-killed',
  async run({ quick }) {
    const devices = quick ? 500 : 5_000
    const kills = quick ? 2 : 5
    const findings: Finding[] = []
    for (const redis of [false, true]) {
      const scene = await openJobsScene({ devices, redis })
      try {
        for (let kill = 1; kill <= kills; kill += 1) {
          await scene.progress((devices * kill) / (kills + 2))
          await scene.worker.end('SIGKILL')
          await scene.startWorker()
        }
        const backend = redis ? 'Redis' : 'Postgres'
        findings.push(...(await scene.verify()).map(({ what, ...rest }) => ({ what: `${what} (${backend})`, ...rest })))
      } finally {
        await scene.close()
      }
    }
    return findings
  },
}
