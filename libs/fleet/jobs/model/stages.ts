import { z } from 'zod'

/** The size of one stage: a number of devices, or a share of the batch, rounded up. */
const stageSchema = z.union([
  z.strictObject({ devices: z.int().min(1).max(100_000) }),
  z.strictObject({ percent: z.number().min(0.1).max(99) }),
])

export const stagesSchema = z.array(stageSchema).min(1).max(10)

type StageSize = z.infer<typeof stageSchema>

/** The part of a rollout that divides a batch into stages. */
export type StagePlan = { canary?: number | undefined; stages?: readonly StageSize[] | undefined }

const sizeOf = (stage: StageSize, total: number): number =>
  'devices' in stage ? stage.devices : Math.ceil((stage.percent * total) / 100)

/**
 * Returns how many devices the stages have released by their ends, in ascending order. Canaries are the first stage. The
 * last end is the whole batch, and stages for which no devices remain are left out.
 */
export function stageEnds({ canary, stages = [] }: StagePlan, total: number): number[] {
  const sizes = [...(canary === undefined ? [] : [canary]), ...stages.map((stage) => sizeOf(stage, total))]
  const ends: number[] = []
  let end = 0
  for (const size of sizes) {
    end += size
    if (end < total) ends.push(end)
  }
  return [...ends, total]
}

/** Returns the index of the stage that runs when this many jobs are released. */
export const stageAt = (ends: readonly number[], released: number): number =>
  Math.max(
    0,
    ends.findIndex((end) => released <= end),
  )

/** When a stage started and ended; null for what has not happened. */
export type StageTimes = { startedAt: string | null; endedAt: string | null }

export const stageStatuses = ['waiting', 'running', 'finished', 'stopped'] as const
type StageStatus = (typeof stageStatuses)[number]

/** A stage of a batch. `stopped`: the batch was cancelled before the stage ended or started. */
export type Stage = StageTimes & { devices: number; status: StageStatus }

type StagedBatch = { status: string; total: number; times: readonly StageTimes[]; finishedAt: string | null }

/** Returns the stages of a batch with their states; none when the rollout does not divide it. */
export function stagesOf(plan: StagePlan, { status, total, times, finishedAt }: StagedBatch): Stage[] {
  if (plan.stages === undefined && plan.canary === undefined) return []
  const ends = stageEnds(plan, total)
  return ends.map((end, index) => {
    const { startedAt = null, endedAt = null } = times[index] ?? {}
    const devices = end - (ends[index - 1] ?? 0)
    if (endedAt !== null) return { devices, startedAt, endedAt, status: 'finished' }
    if (status === 'cancelled') return { devices, startedAt, endedAt: null, status: 'stopped' }
    // A stage whose jobs all ended before it began is left out.
    const isOver = finishedAt !== null || times.slice(index + 1).some((later) => later.startedAt !== null)
    if (startedAt === null) return { devices, startedAt, endedAt, status: isOver ? 'finished' : 'waiting' }
    return { devices, startedAt, endedAt: finishedAt, status: finishedAt === null ? 'running' : 'finished' }
  })
}
