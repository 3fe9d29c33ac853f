type Interval = readonly [west: number, east: number]

/** Intervals of longitudes in bounded memory, however many are added. */
type LongitudeStripes = {
  /** Adds the longitudes from `west` to `east`, which are in −180..180. `west` is not greater than `east`. */
  add(west: number, east?: number): void
  /**
   * The smallest interval that contains all of them; west > east across 180°. A gap of less than a degree between two of them can
   * count as filled. Undefined without any.
   */
  span(): Interval | undefined
}

/** Keeps the ends of the longitudes in each degree, so that those of a million positions need not be sorted. */
export function createLongitudeStripes(): LongitudeStripes {
  const wests = new Float64Array(361).fill(Infinity)
  const easts = new Float64Array(361).fill(-Infinity)
  return {
    add(west, east = west) {
      const last = Math.floor(east) + 180
      for (let stripe = Math.floor(west) + 180; stripe <= last; stripe++) {
        wests[stripe] = Math.min(wests[stripe] ?? west, Math.max(west, stripe - 180))
        easts[stripe] = Math.max(easts[stripe] ?? east, Math.min(east, stripe - 179))
      }
    },
    span() {
      const intervals: Interval[] = []
      for (const [stripe, west] of wests.entries()) if (west < Infinity) intervals.push([west, easts[stripe] ?? west])
      return spanOf(intervals)
    },
  }
}

/** The smallest interval around intervals, which are in order and do not overlap: it leaves out the widest gap between two of them. */
function spanOf(intervals: readonly Interval[]): Interval | undefined {
  const [first, last] = [intervals[0], intervals.at(-1)]
  if (!first || !last) return undefined
  let [west, east] = [first[0], last[1]]
  let widest = west + 360 - east
  for (const [index, [nextWest]] of intervals.entries()) {
    const before = intervals[index - 1]?.[1] ?? nextWest
    if (nextWest - before > widest) [west, east, widest] = [nextWest, before, nextWest - before]
  }
  // −180 and 180 are one meridian.
  if (widest === 360 && Math.abs(east) === 180) return [east, east]
  return [west === 180 ? -180 : west, east === -180 ? 180 : east]
}
