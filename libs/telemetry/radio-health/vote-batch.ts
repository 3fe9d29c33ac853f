import { afterHour, hourOf, packedLevel, radioOf } from './packed-level.ts'
import { createVoteColumns } from './vote-columns.ts'

/** Takes millions of minute votes in order of time, and gives them out cell by cell. A vote takes 12 bytes. */
export type VoteBatch = {
  /**
   * Adds a vote. Cells and radios are numbered from 0. `hour`: since the start of the window. `level`: hundredths of a dB above
   * `lowestDbm`.
   */
  add(cell: number, radio: number, hour: number, level: number): void
  /** True when the batch should be reduced before more votes come. Until it is, they take more memory. */
  isFull(): boolean
  /**
   * Replaces the votes of a radio in a cell and an hour that is over by their median, which a comparison does anyway, so that a depot with
   * thousands of parked routers needs little memory.
   */
  reduce(): void
  /**
   * Passes on each cell: the first `count` packed levels, which are in order, and valid until `use` returns. Empties the batch, whose
   * memory is used again.
   */
  takeCells(use: (packed: Float64Array, count: number) => void): void
  /** Frees the memory. Nothing may be added afterwards. */
  free(): void
}

/** A full batch that has more than this share of its votes after it was reduced gets more memory. */
const wellReduced = 0.75
const growth = 1.5

/** Calls `put` with the first `count` levels of a cell, which are in order: with one for each hour before `newestHour`. */
function reduceHours(
  sorted: Float64Array,
  { count, newestHour }: { count: number; newestHour: number },
  put: (packed: number) => void,
): void {
  for (let from = 0, to = 0; from < count; from = to) {
    const radio = radioOf(sorted[from] ?? 0)
    const hour = hourOf(sorted[from] ?? 0, radio)
    const endOfHour = afterHour(radio, hour)
    while (to < count && (sorted[to] ?? 0) < endOfHour) to++
    if (hour >= newestHour) for (let index = from; index < to; index++) put(sorted[index] ?? 0)
    else {
      const half = (from + to) >> 1
      const upper = sorted[half] ?? 0
      // Between two numbers of the same hour is a level between theirs.
      put((to - from) % 2 === 1 ? upper : Math.floor((upper + (sorted[half - 1] ?? 0)) / 2 + 0.5))
    }
  }
}

/** `capacity`: votes for which there is memory at first. */
export function createVoteBatch(capacity: number): VoteBatch {
  const votes = createVoteColumns(capacity)
  let full = capacity
  let newestHour = 0
  return {
    add(cell, radio, hour, level) {
      votes.append(cell, packedLevel(radio, hour, level))
      newestHour = hour
    },
    isFull: () => votes.length >= full,
    reduce() {
      let kept = 0
      votes.eachCell((sorted, count, cell) =>
        reduceHours(sorted, { count, newestHour }, (packed) => votes.put(kept++, cell, packed)),
      )
      votes.length = kept
      if (kept <= wellReduced * full) return
      full = Math.ceil(growth * kept)
      votes.reserve(full)
    },
    takeCells(use) {
      votes.eachCell(use)
      votes.length = 0
    },
    free: votes.free,
  }
}
