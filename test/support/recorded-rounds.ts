import { createFairRounds, type FairRounds } from '#core/fair-rounds'

type RecordedRounds = {
  rounds: FairRounds
  /** The owners whose work failed. */
  failed: string[]
}

/** Rounds that record failures. `stepMs`: the clock moves only by this, whenever it is read; undefined: the real clock. */
export function recordedRounds({ stepMs }: { stepMs?: number } = {}): RecordedRounds {
  const failed: string[] = []
  let nowMs = 0
  const clock = stepMs === undefined ? {} : { nowMs: () => (nowMs += stepMs) }
  return { rounds: createFairRounds({ ...clock, onError: (_, owner) => failed.push(owner) }), failed }
}
