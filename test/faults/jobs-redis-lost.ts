import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { openJobsScene } from './jobs-scene.ts'

/** Flushes Redis during a batch, then kills it and restarts it without data. */
export const jobsRedisLost: Fault = {
  name: 'jobs-redis-lost',
  async run({ quick }) {
    const devices = quick ? 1_000 : 10_000
    const scene = await openJobsScene({ devices, redis: true })
    try {
      await scene.progress(devices / 10)
      await scene.redis?.flush()
      await scene.progress(devices / 3)
      await scene.redis?.kill()
      await delay(3_000)
      await scene.redis?.restart()
      await scene.progress(devices / 2)
      await scene.redis?.flush()
      return await scene.verify()
    } finally {
      await scene.close()
    }
  },
}
