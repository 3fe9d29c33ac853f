import { ServiceError } from '#core/errors'
import { createFairQueue, type FairQueue } from '#core/fair-queue'

const retryAfterSeconds = 5

/**
 * The line in which imports wait until their rows are read and created. The rows of one take up to 100 MiB, so that only
 * two are worked on at the same time, of different organizations. Refuses with 429 `rate_limited`.
 */
export const createImportLine = (): FairQueue =>
  createFairQueue({
    maxRunning: 2,
    maxRunningPerOwner: 1,
    maxWaitingPerOwner: 16,
    refusal: (reason) =>
      new ServiceError(429, 'rate_limited', `${reason} Retry in ${retryAfterSeconds} s.`, {
        headers: { 'Retry-After': String(retryAfterSeconds) },
      }),
  })
