/** Votes of one operator in a cell, from all devices of an organization, and how many of them were without service. */
export type ServiceVotes = { plmn: string; votes: number; noService: number }

/** The minutes that a SIM spent in a cell. A minute in several cells counts as a part in each. */
export type SimCell = { cell: number; minutes: number; noServiceMinutes: number }

/** `plmn`: the operator of most of its votes; null if none has one. `days`: UTC days on which it voted. */
export type Sim = { plmn: string | null; days: number; cells: Iterable<SimCell> }

/** `noServiceMinutesPerDay` is null if less than half of the SIM's time was in cells in which the operator has votes. */
type OperatorEstimate = {
  plmn: string
  noServiceMinutesPerDay: number | null
  /** Share of the SIM's time in cells in which the operator has votes. */
  knownShare: number
}

/** Minutes and shares are rounded to hundredths. */
export type SimAdvice = {
  /** Minutes with a position, a day on which the SIM voted. */
  minutesPerDay: number
  noServiceMinutesPerDay: number
  /** The other operators of the country or with votes in the SIM's cells: the fewest minutes without service first, unknown ones last. */
  operators: OperatorEstimate[]
  /** The first of them if it has fewer minutes without service than the SIM has today. */
  bestPlmn: string | null
  /** What it would save: 0 if no other operator is better, null if none is known. */
  gainMinutesPerDay: number | null
}

const enoughKnown = 0.5

/** Rounds to hundredths. */
const rounded = (value: number): number => Math.round(value * 100) / 100

/** Estimates by the fleet's own votes what SIMs of other operators would do in the places where a SIM is. */
export type SimAdvisor = {
  /** Adds the votes in a cell, once for each cell, before the first advice. Cells are any numbers that tell them apart. */
  addCell(cell: number, votes: readonly ServiceVotes[]): void
  advise(sim: Sim): SimAdvice
}

/**
 * An estimate for another operator is the SIM's minutes in each cell times the operator's share of votes without service there. In cells
 * without votes of the operator, it is what the SIM has today, so that nothing is gained or lost where nothing is known.
 */
export function createSimAdvisor(): SimAdvisor {
  const plmns: string[] = []
  const indexOf = new Map<string, number>()
  // One list for all cells, because an object for each of a million cells would take most of the memory.
  const operators: number[] = []
  const shares: number[] = []
  const ordinalOf = new Map<number, number>()
  /** Where the entries of each cell end, by ordinal. Those of the next cell begin there. */
  const ends: number[] = []

  const index = (plmn: string): number => {
    const known = indexOf.get(plmn)
    if (known !== undefined) return known
    indexOf.set(plmn, plmns.length)
    return plmns.push(plmn) - 1
  }

  return {
    addCell(cell, votes) {
      ordinalOf.set(cell, ends.length)
      for (const { plmn, votes: all, noService } of votes) {
        operators.push(index(plmn))
        shares.push(noService / all)
      }
      ends.push(operators.length)
    },
    advise({ plmn, days, cells }) {
      let [minutes, noService] = [0, 0]
      const known = new Float64Array(plmns.length)
      // What changes with an operator, in the cells in which it is known.
      const change = new Float64Array(plmns.length)
      for (const own of cells) {
        minutes += own.minutes
        noService += own.noServiceMinutes
        const ordinal = ordinalOf.get(own.cell)
        if (ordinal === undefined) continue
        const end = ends[ordinal] ?? 0
        for (let at = ends[ordinal - 1] ?? 0; at < end; at++) {
          const operator = operators[at] ?? 0
          known[operator] = (known[operator] ?? 0) + own.minutes
          change[operator] = (change[operator] ?? 0) + own.minutes * (shares[at] ?? 0) - own.noServiceMinutes
        }
      }
      const perDay = (value: number) => rounded(Math.max(0, value) / Math.max(1, days))
      const estimates = plmns
        .map((other, at): OperatorEstimate => {
          const knownShare = minutes === 0 ? 0 : (known[at] ?? 0) / minutes
          const isKnown = knownShare >= enoughKnown
          const estimate = isKnown ? perDay(noService + (change[at] ?? 0)) : null
          return { plmn: other, noServiceMinutesPerDay: estimate, knownShare: rounded(knownShare) }
        })
        .filter(
          (other) =>
            other.plmn !== plmn && (other.knownShare > 0 || (plmn !== null && isSameCountry(other.plmn, plmn))),
        )
        .sort(bestFirst)
      const today = perDay(noService)
      const best = estimates[0]?.noServiceMinutesPerDay ?? null
      const gain = best === null ? null : rounded(Math.max(0, today - best))
      return {
        minutesPerDay: perDay(minutes),
        noServiceMinutesPerDay: today,
        operators: estimates,
        bestPlmn: gain ? (estimates[0]?.plmn ?? null) : null,
        gainMinutesPerDay: gain,
      }
    },
  }
}

/** The first three digits of a PLMN are the country. */
const isSameCountry = (a: string, b: string): boolean => a.slice(0, 3) === b.slice(0, 3)

const order = ({ noServiceMinutesPerDay }: OperatorEstimate): number =>
  noServiceMinutesPerDay ?? Number.POSITIVE_INFINITY

const bestFirst = (a: OperatorEstimate, b: OperatorEstimate): number => {
  const [first, second] = [order(a), order(b)]
  if (first !== second) return first - second
  return b.knownShare - a.knownShare || (a.plmn < b.plmn ? -1 : 1)
}
