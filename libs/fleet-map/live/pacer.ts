/** Spaces out work that is too dear for every round. */
export type Pacer = {
  isDue(nowMs: number): boolean
  /** Says what the work just done took, and when it began. */
  ran(startedMs: number, tookMs: number): void
}

/** Lets work run so often that it takes up at most this share of the time: cheap work runs at every round. */
export function createPacer(share: number): Pacer {
  let dueMs = 0
  return {
    isDue: (nowMs) => nowMs >= dueMs,
    ran: (startedMs, tookMs) => {
      dueMs = startedMs + tookMs / share
    },
  }
}
