import { ServiceError } from '#core/errors'
import { createFairQueue, type FairQueue } from '#core/fair-queue'

const retryAfterSeconds = 5

/**
 * The queue of imports. The rows of one import take up to 100 MiB of memory, so only two imports run at the same time, of
 * different organizations. Throws 429 `rate_limited` if too many imports of an organization wait.
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
