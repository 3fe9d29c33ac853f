/** What a radio measured on a day beside its neighbours: the median over its shared cells, and how many those were. */
export type DayLevel = { day: number; levelDb: number; cells: number }

/** Histograms of differences by radio and day, so that memory does not grow with the number of cells. */
export type DayLevels = {
  add(rank: number, day: number, differenceDb: number): void
  /** The days on which the radio was in shared cells, in order. */
  levelsOf(rank: number): DayLevel[]
}

/** Bins of 1 dB around 0. The outermost ones hold everything beyond. A bin is full at 255 cells, which make a median certain. */
const bins = 64
const lowestDb = -bins / 2
const maxCount = 255

export function createDayLevels(radios: number, days: number): DayLevels {
  const counts = new Uint8Array(radios * days * bins)

  /** The median of a histogram with values, interpolated inside its bin. */
  function medianAt(offset: number, total: number): number {
    let below = 0
    let bin = 0
    for (; bin < bins - 1; bin++) {
      const count = counts[offset + bin] ?? 0
      if (below + count >= total / 2) break
      below += count
    }
    return lowestDb + bin + (total / 2 - below) / (counts[offset + bin] || 1)
  }

  return {
    add(rank, day, differenceDb) {
      // Whole and half dB are the usual differences: they lie inside a bin.
      const bin = Math.min(bins - 1, Math.max(0, Math.floor(differenceDb - lowestDb + 0.25)))
      const index = (rank * days + day) * bins + bin
      const count = counts[index] ?? 0
      if (count < maxCount) counts[index] = count + 1
    },
    levelsOf(rank) {
      const levels: DayLevel[] = []
      for (let day = 0; day < days; day++) {
        const offset = (rank * days + day) * bins
        let cells = 0
        for (let bin = 0; bin < bins; bin++) cells += counts[offset + bin] ?? 0
        if (cells > 0) levels.push({ day, levelDb: medianAt(offset, cells) - 0.25, cells })
      }
      return levels
    },
  }
}
