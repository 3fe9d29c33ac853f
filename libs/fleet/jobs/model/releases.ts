import { isDeliveryOver, type JobDelivery, tooEarly } from '#fleet/jobs/model/good-moment'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { deliverableFrom, type Schedule } from '#fleet/jobs/model/schedule'
import { stageEnds } from '#fleet/jobs/model/stages'

/** When the first and the last jobs of a stage are released at the earliest. */
type StageRelease = { devices: number; firstMs: number; lastMs: number }

type PlannedBatch = { total: number; schedule: Schedule | null; rollout: Rollout; nowMs: number }

const minuteMs = 60_000

/**
 * Returns the stages of a batch that is created at `nowMs`, if each one ends at once: one without stages, none without jobs. An
 * operator who must confirm a stage does so at once, too.
 */
export function earliestReleases({ total, schedule, rollout, nowMs }: PlannedBatch): StageRelease[] {
  if (total === 0) return []
  const { maxPerMinute = Number.POSITIVE_INFINITY, stageWaitMinutes = 0 } = rollout
  const ends = stageEnds(rollout, total)
  let firstMs = deliverableFrom(schedule, nowMs)
  return ends.map((end, index) => {
    const devices = end - (ends[index - 1] ?? 0)
    // The last job of a stage is released after the first ones have had their minutes.
    const releasedMs = firstMs + Math.floor((devices - 1) / maxPerMinute) * minuteMs
    const stage = { devices, firstMs, lastMs: deliverableFrom(schedule, releasedMs) }
    firstMs = deliverableFrom(schedule, releasedMs + stageWaitMinutes * minuteMs)
    return stage
  })
}

/** Throws 400 if jobs would expire at `latestAt` before the schedule or the rollout lets devices take them. */
export function requireInTime(delivery: JobDelivery | null, stages: readonly StageRelease[]): void {
  const late = stages.findIndex(({ lastMs }) => isDeliveryOver(delivery, lastMs))
  const stage = stages[late]
  if (!stage) return
  const { firstMs, lastMs } = stage
  const jobs = isDeliveryOver(delivery, firstMs) ? 'jobs' : 'last jobs'
  const ofStage = stages.length > 1 ? ` of stage ${late + 1}` : ''
  throw tooEarly(
    `The ${jobs}${ofStage} would expire before devices may take them, at ${new Date(lastMs).toISOString()} at the earliest. Choose a later time.`,
  )
}
