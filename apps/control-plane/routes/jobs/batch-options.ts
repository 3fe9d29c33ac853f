import { z } from 'zod'
import { batchPlanSchema } from '#fleet/jobs/batches/plan'
import type { Batch } from '#fleet/jobs/batches/read'
import { deliverySchema } from '#fleet/jobs/model/good-moment'
import { maxExpiresInSeconds } from '#fleet/jobs/model/kinds'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'
import type { Reply } from '../../http/route.ts'
import type { dryRunQuery } from '../../http/schemas.ts'

/** A dry run creates nothing, so that the key of the real request stays free. */
export const onceUnlessDryRun = ({ dryRun }: z.output<typeof dryRunQuery>) => (dryRun ? undefined : 'replay')

export const dryRunAnswer = { description: 'With `dryRun=true`: what would be created.', schema: batchPlanSchema }

/** The reply with a new batch. */
export const accepted = (batch: Batch, organizationId: string): Reply => ({
  status: 202,
  body: batch,
  headers: { Location: `/orgs/${organizationId}/job-batches/${batch.id}` },
})

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
