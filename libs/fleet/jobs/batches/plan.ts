import { z } from 'zod'
import { instantOut } from '#core/schemas'
import type { Batch } from '#fleet/jobs/batches/read'
import { batchSchema } from '#fleet/jobs/batches/read'
import { earliestReleases } from '#fleet/jobs/model/releases'

const plannedStage = z.object({
  devices: z.int(),
  earliestAt: instantOut().describe(
    'When the stage starts at the earliest: the stages before it end at once. With `confirmStages`, an operator starts it.',
  ),
})

/** What a request for a batch would create. */
export const batchPlanSchema = batchSchema
  .pick({
    ...{ kind: true, target: true, targetName: true, profile: true, parameters: true },
    ...{ schedule: true, rollout: true, delivery: true, total: true, skipped: true },
  })
  .extend({
    dryRun: z.literal(true),
    skippedReasons: z.record(z.string(), z.int()).describe('The number of skipped devices by reason.'),
    stages: z.array(plannedStage).describe('One stage if the rollout has none; none without jobs.'),
  })
  .meta({ id: 'JobBatchPlan' })

export type BatchPlan = z.infer<typeof batchPlanSchema>

/** Returns the plan of a batch that was created at `nowMs`. */
export function planOf(batch: Batch, nowMs: number): BatchPlan {
  const { kind, target, targetName, profile, parameters, schedule, rollout, delivery, total, skipped } = batch
  const skippedReasons: Record<string, number> = {}
  for (const { reason } of skipped) skippedReasons[reason] = (skippedReasons[reason] ?? 0) + 1
  const stages = earliestReleases({ total, schedule, rollout: rollout ?? {}, nowMs })
  return {
    ...{ dryRun: true, kind, target, targetName, profile, parameters, schedule, rollout, delivery },
    ...{ total, skipped, skippedReasons },
    stages: stages.map(({ devices, firstMs }) => ({ devices, earliestAt: new Date(firstMs).toISOString() })),
  }
}
