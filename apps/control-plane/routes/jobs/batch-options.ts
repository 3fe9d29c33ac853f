import { z } from 'zod'
import { deliverySchema } from '#fleet/jobs/model/good-moment'
import { maxExpiresInSeconds } from '#fleet/jobs/model/kinds'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'

/** What a request for a batch may say about its time and pace. */
export const batchOptions = {
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxExpiresInSeconds)
    .optional()
    .describe(
      'Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It starts again after a pause.',
    ),
  delivery: deliverySchema
    .optional()
    .describe('Lets each device take its job at a good moment only: with good signal, or while it dwells.'),
  schedule: scheduleSchema.optional(),
  rollout: rolloutSchema.optional(),
}
