// All accepted values of RSRP and SINR are above the lowest level and below the highest.
export const lowestLevel = -161
export const levels = 256

/**
 * Votes by whole dB. `counts` has those of a level at `offset + level - lowestLevel`, and possibly other counts before and
 * after. Only the indexes from `first` to `last` may have votes; `last` is smaller if there are none.
 */
export type LevelCounts = { counts: Float64Array; offset: number; first: number; last: number }

/** The index for no level at all, which is never counted. */
export const noLevel = 0

export const emptyLevelCounts = (): LevelCounts => ({ counts: new Float64Array(levels), offset: 0, ...noIndexes })

export const noIndexes = { first: levels, last: noLevel }

/** Counts votes of a level in whole dB. A level outside of the range counts as its nearest end. */
export function countLevel(to: LevelCounts, level: number, votes: number): void {
  const index = Math.min(levels - 1, Math.max(noLevel + 1, level - lowestLevel))
  to.counts[to.offset + index] = (to.counts[to.offset + index] ?? 0) + votes
  if (index < to.first) to.first = index
  if (index > to.last) to.last = index
}

export function addLevels(to: LevelCounts, { counts, offset, first, last }: LevelCounts): void {
  for (let index = first; index <= last; index++) {
    to.counts[to.offset + index] = (to.counts[to.offset + index] ?? 0) + (counts[offset + index] ?? 0)
  }
  to.first = Math.min(to.first, first)
  to.last = Math.max(to.last, last)
}

export function totalVotes({ counts, offset, first, last }: LevelCounts): number {
  let total = 0
  for (let index = first; index <= last; index++) total += counts[offset + index] ?? 0
  return total
}
