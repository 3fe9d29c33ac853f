import { z } from 'zod'
import { instantOut } from '#core/schemas'
import type { Batch } from '#fleet/jobs/batches/read'
import { batchSchema } from '#fleet/jobs/batches/read'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { deliverableFrom, type Schedule } from '#fleet/jobs/model/schedule'
import { stageEnds } from '#fleet/jobs/model/stages'

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
  return {
    ...{ dryRun: true, kind, target, targetName, profile, parameters, schedule, rollout, delivery },
    ...{ total, skipped, skippedReasons, stages: plannedStages({ total, schedule, rollout: rollout ?? {}, nowMs }) },
  }
}

const minuteMs = 60_000

function plannedStages(parts: { total: number; schedule: Schedule | null; rollout: Rollout; nowMs: number }) {
  const { total, schedule, rollout, nowMs } = parts
  if (total === 0) return []
  const { maxPerMinute = Number.POSITIVE_INFINITY, stageWaitMinutes = 0 } = rollout
  const ends = stageEnds(rollout, total)
  let earliestMs = deliverableFrom(schedule, nowMs)
  return ends.map((end, index) => {
    const devices = end - (ends[index - 1] ?? 0)
    const stage = { devices, earliestAt: new Date(earliestMs).toISOString() }
    // The last job of a stage is released after the first ones have had their minutes.
    const releaseMinutes = Math.floor((devices - 1) / maxPerMinute)
    earliestMs = deliverableFrom(schedule, earliestMs + (releaseMinutes + stageWaitMinutes) * minuteMs)
    return stage
  })
}
