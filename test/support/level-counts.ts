import { type LevelCounts, lowestLevel } from '#telemetry/coverage/level-counts'

/** The levels that have votes, in whole dB, with their votes. */
export function votesByLevel({ counts, offset, first, last }: LevelCounts): [level: number, votes: number][] {
  const votes: [number, number][] = []
  for (let index = first; index <= last; index++) {
    const count = counts[offset + index] ?? 0
    if (count > 0) votes.push([index + lowestLevel, count])
  }
  return votes
}
