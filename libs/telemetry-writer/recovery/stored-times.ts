import type { LogPosition } from '#telemetry-log/log'

/** Finds the time up to which queries return everything that was in one partition. */
export type StoredTimes = {
  /** Records where the partition ended at or after a time. Call it in the order of the times. */
  ended(atMs: number, end: LogPosition): void
  /** Records, at `monotonicMs`, that all rows before the position have been stored. */
  settled(position: LogPosition, monotonicMs: number): void
  /** Returns the latest time of `ended` up to which all rows were stored at `appliedMs`, which is monotonic. */
  storedToMs(appliedMs: number): number | undefined
  /** Forgets everything that is not stored for certain, because the database has restarted. */
  restart(): void
}

type Observation = { atMs: number; end: LogPosition; settledMs: number | undefined }

/** While nothing is stored, only every second of the observations is kept beyond this number. */
const maxWaiting = 1_000

/**
 * Compares the end of the partition with what is stored. Times of `ended` come from one clock that all machines share, so
 * the clocks of the machines do not matter.
 */
export function createStoredTimes(): StoredTimes {
  let waiting: Observation[] = []
  let storedToMs: number | undefined
  return {
    ended(atMs, end) {
      if (waiting.length >= maxWaiting) waiting = waiting.filter((_, index) => index % 2 === 0)
      waiting.push({ atMs, end, settledMs: undefined })
    },
    settled(position, monotonicMs) {
      for (const observation of waiting) {
        if (observation.end > position) break
        observation.settledMs ??= monotonicMs
      }
    },
    storedToMs(appliedMs) {
      const next = waiting.findIndex(({ settledMs }) => settledMs === undefined || settledMs > appliedMs)
      const passed = waiting.splice(0, next < 0 ? waiting.length : next)
      storedToMs = passed.at(-1)?.atMs ?? storedToMs
      return storedToMs
    },
    restart() {
      waiting = []
      storedToMs = undefined
    },
  }
}
