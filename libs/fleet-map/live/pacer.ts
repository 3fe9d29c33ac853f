/** Limits how often expensive work runs. */
export type Pacer = {
  isDue(nowMs: number): boolean
  /** Records when the last work began and how long it took. */
  ran(startedMs: number, tookMs: number): void
}

/** Work is due when it has used at most this share of the time since its last start. */
export function createPacer(share: number): Pacer {
  let dueMs = 0
  return {
    isDue: (nowMs) => nowMs >= dueMs,
    ran: (startedMs, tookMs) => {
      dueMs = startedMs + tookMs / share
    },
  }
}
