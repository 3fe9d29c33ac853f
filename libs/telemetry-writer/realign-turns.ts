/** When devices are aligned again, and which first. */
export type RealignTurns = {
  isDue(nowMs: number): boolean
  /** Those behind the one the last turn ended with come first: none that is late all the time keeps others waiting. */
  inOrder<State>(dirty: readonly [string, State][]): [string, State][]
  /** A turn that had to leave some over is soon followed by the next. */
  ended(turn: { startedMs: number; endedMs: number; lastDeviceId?: string | undefined; isLeftOver: boolean }): void
}

/** Late data comes in several reports; waiting a little aligns them together. Looking for it takes time too. */
const pauseMs = 5_000
/** While some are left over, a fifth of the time goes into them. */
const pausePerTurn = 4

export function createRealignTurns(startMs: number): RealignTurns {
  let dueAtMs = startMs + pauseMs
  let lastDeviceId: string | undefined
  return {
    isDue: (nowMs) => nowMs >= dueAtMs,
    inOrder(dirty) {
      const behind = dirty.findIndex(([deviceId]) => deviceId === lastDeviceId) + 1
      return [...dirty.slice(behind), ...dirty.slice(0, behind)]
    },
    ended(turn) {
      lastDeviceId = turn.lastDeviceId ?? lastDeviceId
      const tookMs = turn.endedMs - turn.startedMs
      dueAtMs = turn.endedMs + (turn.isLeftOver ? Math.min(pauseMs, pausePerTurn * tookMs) : pauseMs)
    },
  }
}
