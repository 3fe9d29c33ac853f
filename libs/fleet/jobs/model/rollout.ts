import { z } from 'zod'

/** How fast a batch dispatches its jobs, and when it stops. */
export const rolloutSchema = z.strictObject({
  /** Jobs dispatched in any 60 s. */
  maxPerMinute: z.int().min(1).max(100_000).optional(),
  /** Jobs dispatched or in progress at a time. */
  maxConcurrent: z.int().min(1).max(100_000).optional(),
  /** Number of jobs that are released first; the others wait until all of these have succeeded. */
  canary: z.int().min(1).max(10_000).optional(),
  /** Share of failed jobs, of the batch or, while only canaries run, of the canaries, that cancels the rest. */
  abortWhenFailedPct: z.number().min(1).max(100).optional(),
})

export type Rollout = z.infer<typeof rolloutSchema>

export type Release = { atMs: number; count: number }

export type RolloutFigures = {
  total: number
  /** Queued and not yet released by the rollout. */
  held: number
  /** Released and not ended. */
  open: number
  succeeded: number
  /** Failed, timed out or rejected. */
  failed: number
  recentReleases: readonly Release[]
}

type RolloutStep = { abort: boolean; release: number }

const minuteMs = 60_000
const abort: RolloutStep = { abort: true, release: 0 }

export const withinLastMinute = (releases: readonly Release[], nowMs: number): Release[] =>
  releases.filter(({ atMs }) => atMs > nowMs - minuteMs)

/** Decides how many of the held jobs to release now, or to abort the batch. */
export function rolloutStep(rollout: Rollout, figures: RolloutFigures, nowMs: number): RolloutStep {
  const { held, open, succeeded, failed, total } = figures
  const ended = total - held - open
  const canaries = Math.min(rollout.canary ?? 0, total)
  const onlyCanariesReleased = canaries > 0 && ended + open <= canaries
  const limitPct = rollout.abortWhenFailedPct

  if (failed > 0 && limitPct === undefined && onlyCanariesReleased) return abort
  if (failed > 0 && limitPct !== undefined && failed * 100 >= limitPct * (onlyCanariesReleased ? canaries : total))
    return abort
  // Canaries that all expired or were cancelled prove nothing.
  if (onlyCanariesReleased && ended === canaries && succeeded === 0) return abort

  const recent = withinLastMinute(figures.recentReleases, nowMs).reduce((sum, { count }) => sum + count, 0)
  const room = [
    held,
    rollout.maxPerMinute === undefined ? held : rollout.maxPerMinute - recent,
    rollout.maxConcurrent === undefined ? held : rollout.maxConcurrent - open,
    onlyCanariesReleased && ended < canaries ? canaries - ended - open : held,
  ]
  return { abort: false, release: Math.max(0, Math.min(...room)) }
}
