/** Groups of appends that were made durable, and the time from the start of their writes to that, one after another. */
export type CommitFigures = { count: number; seconds: number }

/** Measures commits. Those that fail do not count. */
export function createCommitMeter(): { begin(): { end(): void }; figures(): CommitFigures } {
  const sum = { count: 0, ms: 0 }
  return {
    begin() {
      const startedMs = performance.now()
      return {
        end() {
          sum.count++
          sum.ms += performance.now() - startedMs
        },
      }
    },
    figures: () => ({ count: sum.count, seconds: sum.ms / 1_000 }),
  }
}
