import type { LogPosition } from '#telemetry-log/log'

export type AppliedPositions = {
  /** Records that rows before the position are stored now. */
  stored(position: LogPosition): void
  /** Returns the position before which all rows were stored before `timeMs` of `performance.now()`. */
  before(timeMs: number): LogPosition
}

/** Translates the time up to which QuestDB has applied rows to a position of one partition. */
export function createAppliedPositions(): AppliedPositions {
  const waiting: { position: LogPosition; atMs: number }[] = []
  let applied: LogPosition = 0
  return {
    stored(position) {
      waiting.push({ position, atMs: performance.now() })
    },
    before(timeMs) {
      const next = waiting.findIndex(({ atMs }) => atMs >= timeMs)
      const passed = waiting.splice(0, next < 0 ? waiting.length : next)
      applied = passed.at(-1)?.position ?? applied
      return applied
    },
  }
}
