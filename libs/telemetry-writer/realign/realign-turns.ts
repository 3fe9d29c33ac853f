/** Decides when devices are realigned and in which order. */
export type RealignTurns = {
  isDue(nowMs: number): boolean
  /** Returns the devices after the last one of the previous turn first, so that none delays the others. */
  inOrder<State>(dirty: readonly [string, State][]): [string, State][]
  /** Schedules the next turn. It is due early if work is left. */
  ended(turn: { startedMs: number; endedMs: number; lastDeviceId?: string | undefined; isLeftOver: boolean }): void
}

/** Late data arrives in several reports. A pause lets one realignment cover all of them. */
const pauseMs = 5_000
/** While work is left, turns take a fifth of the time. */
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
