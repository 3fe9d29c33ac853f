import type { Checkpoint, SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { LoggedBatch } from '#telemetry-log/log'
import { noCounts, sumCounts } from './sample-counts.ts'

export type SampleLedger = {
  /** False when the samples of this report were counted before the checkpoint. */
  isCounted(batch: LoggedBatch): boolean
  /** Records the next report of the log. Samples that are missing before it were lost to damage. */
  expect(batch: LoggedBatch): void
  /** Adds samples that were processed and have no row in the next flush. */
  addRowless(counts: SampleCounts): void
  /** Takes the samples without a row for a flush. What it returns adds the stored rows and returns the new total. */
  startFlush(): (stored: readonly SampleCounts[]) => SampleCounts
  /**
   * Until `endAdvance`, flushes contain reports that the reader has not reached. Their rows count when it does; only the
   * number of rows in the dead letters is kept, and `takeDeadInAdvance` takes from it.
   */
  startAdvance(): void
  takeDeadInAdvance(atMost: number): number
  endAdvance(): void
}

/** Counts the outcome of each accepted sample, so that the total at a position is the number of samples before it. */
export function createSampleLedger(checkpoint: Checkpoint): SampleLedger {
  let total = checkpoint.counts
  let rowless = noCounts
  /** Accepted samples before the position of the reader; undefined until the checkpoint is passed. */
  let expectedSample = total.stored + total.replaced + total.deadLettered
  let deadInAdvance: number | undefined

  const addRowless = (counts: SampleCounts) => {
    rowless = sumCounts(rowless, counts)
  }
  const isCounted = ({ position }: LoggedBatch) => position >= checkpoint.position
  return {
    isCounted,
    expect(batch) {
      if (!isCounted(batch)) return
      const lost = Math.max(0, batch.firstSample - expectedSample)
      addRowless({ stored: 0, replaced: 0, deadLettered: lost })
      expectedSample = batch.firstSample + batch.sampleCount
    },
    addRowless,
    startFlush() {
      const withoutRow = rowless
      rowless = noCounts
      return (stored) => {
        if (deadInAdvance === undefined) total = [total, ...stored, withoutRow].reduce(sumCounts)
        else deadInAdvance += stored.reduce((sum, { deadLettered }) => sum + deadLettered, 0)
        return total
      }
    },
    startAdvance() {
      deadInAdvance = 0
    },
    takeDeadInAdvance(atMost) {
      const taken = Math.min(atMost, deadInAdvance ?? 0)
      if (deadInAdvance !== undefined) deadInAdvance -= taken
      return taken
    },
    endAdvance() {
      deadInAdvance = undefined
    },
  }
}
