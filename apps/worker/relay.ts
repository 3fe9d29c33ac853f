import type { Clock } from '#core/clock'
import { releaseBatches } from '#fleet/jobs/batches/release'
import { offerDeadlines, offerQueuedJobs } from '#fleet/jobs/queue-offers'
import { sumOfEach } from '#postgres/failing-alone'
import type { Pool } from '#postgres/pool'
import type { JobQueues } from '#queue/job-queues'

type Parts = {
  pool: Pool
  clock: Clock
  queues: Pick<JobQueues, 'add'>
  /** How many jobs of one organization may wait in the queue. */
  cap: number
  /** Hears of what failed; the next round tries it again. */
  onError: (error: unknown) => void
}

const tickMs = 1_000

export type Relay = {
  /** There is work: go at once. */
  wake(): void
  stop(): Promise<void>
}

/**
 * Moves jobs from Postgres to the queues, for as long as there are any, whenever it is woken and once a second: lets
 * batches go as far as their rollouts allow, then offers what is queued and the deadlines of what was taken.
 */
export function startRelay({ pool, clock, queues, cap, onError }: Parts): Relay {
  let stopped = false
  let woken = false
  let wakeUp = () => {}

  const offer = queues.add
  const steps = [
    () => releaseBatches(pool, clock(), onError),
    () => offerQueuedJobs(pool, { cap, nowMs: clock(), offer, onError }),
    () => offerDeadlines(pool, { nowMs: clock(), offer }),
  ]
  const round = () => sumOfEach(steps, (step) => step(), onError)
  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, tickMs)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const loop = async () => {
    while (!stopped) {
      woken = false
      const moved = await round().catch((error: unknown) => {
        onError(error)
        return 0
      })
      if (moved === 0 && !woken && !stopped) await sleep()
    }
  }
  const finished = loop()
  return {
    wake() {
      woken = true
      wakeUp()
    },
    async stop() {
      stopped = true
      wakeUp()
      await finished
    },
  }
}
