/** The minutes of SIMs from their votes, which come in order of time. */
export type SimMinutes = {
  /** Adds a vote of a SIM in a minute. */
  add(sim: number, minute: number, cell: number, isDark: boolean): void
  /** Passes on the last minute. */
  end(): void
  /** The days of 1,440 minutes in which a SIM voted. */
  daysOf(sim: number): number
}

/** Takes a minute of a SIM, or the part of one in which it was in a cell. */
export type TakePart = (sim: number, cell: number, minutes: number, noServiceMinutes: number) => void

const minutesPerDay = 1_440

/** A minute with votes in several cells counts as an equal part in each. `sims`: their number. Minute 0 is the first one of a day. */
export function createSimMinutes(sims: number, take: TakePart): SimMinutes {
  const days = new Uint16Array(sims)
  const lastDays = new Int32Array(sims).fill(-1)
  /** The votes of each SIM in the present minute. */
  const counts = new Uint16Array(sims)
  let present = -1
  let length = 0
  const votes: { sim: number; cell: number; isDark: boolean }[] = []

  function end(): void {
    for (let index = 0; index < length; index++) {
      const vote = votes[index]
      if (!vote) continue
      const minutes = 1 / (counts[vote.sim] ?? 1)
      take(vote.sim, vote.cell, minutes, vote.isDark ? minutes : 0)
    }
    for (let index = 0; index < length; index++) counts[votes[index]?.sim ?? 0] = 0
    length = 0
  }

  return {
    add(sim, minute, cell, isDark) {
      if (minute !== present) end()
      present = minute
      const day = Math.floor(minute / minutesPerDay)
      if (lastDays[sim] !== day) days[sim] = (days[sim] ?? 0) + 1
      lastDays[sim] = day
      counts[sim] = (counts[sim] ?? 0) + 1
      // The objects are used again, because there are millions of votes.
      const vote = votes[length]
      if (vote) {
        vote.sim = sim
        vote.cell = cell
        vote.isDark = isDark
      } else votes.push({ sim, cell, isDark })
      length++
    },
    end,
    daysOf: (sim) => days[sim] ?? 0,
  }
}
