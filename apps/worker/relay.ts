import { createFairRounds } from '#core/fair-rounds'
import { type Repeating, repeat } from '#core/schedule'
import type { SystemContext } from '#fleet/context'
import { releaseBatches } from '#fleet/jobs/batches/release'
import { offerDeadlines, offerQueuedJobs } from '#fleet/jobs/queue-offers'
import { sumOfEach } from '#postgres/bisect'
import { isStoreUnavailable } from '#postgres/errors'
import type { JobQueues } from '#queue/job-queues'

type Parts = {
  system: SystemContext
  queues: Pick<JobQueues, 'add'>
  /** How many jobs of one organization may be in the queue. */
  cap: number
  /** Called with every error that stops all organizations; the next round tries again. */
  onError: (error: unknown) => void
  /** Called with the error of one organization. The round continues with the others. */
  turnFailed: (error: unknown, organizationId: string) => void
}

const pauseMs = 1_000

/**
 * Moves jobs from Postgres to the queues, once a second and whenever it is woken: releases the jobs that rollouts allow,
 * then offers queued jobs and the deadlines of taken ones. Runs without a pause while there are jobs to move.
 */
export function startRelay({ system, queues, cap, onError, turnFailed }: Parts): Repeating {
  const offer = queues.add
  const releases = createFairRounds({ onError: turnFailed, isUnavailable: isStoreUnavailable })
  const steps = [
    () => releaseBatches(system, releases),
    () => offerQueuedJobs(system, { cap, offer, onError: turnFailed }),
    () => offerDeadlines(system, { offer }),
  ]
  return repeat(
    pauseMs,
    async () =>
      (await sumOfEach(
        steps,
        (step) => step(),
        (error) => onError(error),
      )) > 0,
    onError,
  )
}
