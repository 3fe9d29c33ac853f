/** Limits how often expensive work runs. */
export type Pacer = {
  isDue(nowMs: number): boolean
  /** Records when the last work began and how long it took. */
  ran(startedMs: number, tookMs: number): void
  /** Duration of the last work; undefined before it. */
  tookMs(): number | undefined
}

/** Work is due when it has used at most this share of the time since its last start. */
export function createPacer(share: number): Pacer {
  let dueMs = 0
  let lastMs: number | undefined
  return {
    isDue: (nowMs) => nowMs >= dueMs,
    ran: (startedMs, tookMs) => {
      dueMs = startedMs + tookMs / share
      lastMs = tookMs
    },
    tookMs: () => lastMs,
  }
}
