/** Votes of one operator in a cell, from all devices of an organization, and how many of them were without service. */
export type ServiceVotes = { plmn: string; votes: number; noService: number }

/** `plmn`: the operator of most of its votes; null if none has one. `days`: UTC days on which it voted. */
type Sim = { plmn: string | null; days: number }

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

/** Estimates by the fleet's own votes what SIMs of other operators would do in the places where a SIM is. Numbers begin at 0. */
export type SimAdvisor = {
  /** Adds the votes in a cell, once for each cell, before the first minutes. */
  addCell(cell: number, votes: readonly ServiceVotes[]): void
  /** Adds minutes that a SIM spent in a cell, and how many of them were without service. A minute in several cells is a part in each. */
  addMinutes(sim: number, cell: number, minutes: number, noServiceMinutes: number): void
  adviceOf(sim: number, facts: Sim): SimAdvice
}

/**
 * An estimate for another operator is the SIM's minutes in each cell times the operator's share of votes without service there. In cells
 * without votes of the operator, it is what the SIM has today, so that nothing is gained or lost where nothing is known. `sims`: their
 * number. Memory: 16 bytes a SIM and operator, and 20 bytes an operator in a cell.
 */
export function createSimAdvisor(sims: number): SimAdvisor {
  const plmns: string[] = []
  const indexOf = new Map<string, number>()
  // Lists for all cells, because an object for each of a million cells would take most of the memory.
  const operators: number[] = []
  const shares: number[] = []
  const starts: number[] = []
  const ends: number[] = []
  const minutesOf = new Float64Array(sims)
  const noServiceOf = new Float64Array(sims)
  // By SIM and operator: the minutes in cells in which the operator is known, and what changes with it there.
  let [known, change] = [new Float64Array(0), new Float64Array(0)]

  const index = (plmn: string): number => {
    const own = indexOf.get(plmn)
    if (own !== undefined) return own
    indexOf.set(plmn, plmns.length)
    return plmns.push(plmn) - 1
  }

  return {
    addCell(cell, votes) {
      starts[cell] = operators.length
      for (const { plmn, votes: all, noService } of votes) {
        operators.push(index(plmn))
        shares.push(noService / all)
      }
      ends[cell] = operators.length
    },
    addMinutes(sim, cell, minutes, noServiceMinutes) {
      if (known.length < sims * plmns.length)
        [known, change] = [new Float64Array(sims * plmns.length), new Float64Array(sims * plmns.length)]
      minutesOf[sim] = (minutesOf[sim] ?? 0) + minutes
      noServiceOf[sim] = (noServiceOf[sim] ?? 0) + noServiceMinutes
      const end = ends[cell] ?? 0
      for (let at = starts[cell] ?? 0; at < end; at++) {
        const own = sim * plmns.length + (operators[at] ?? 0)
        known[own] = (known[own] ?? 0) + minutes
        change[own] = (change[own] ?? 0) + minutes * (shares[at] ?? 0) - noServiceMinutes
      }
    },
    adviceOf(sim, { plmn, days }) {
      const [minutes, noService] = [minutesOf[sim] ?? 0, noServiceOf[sim] ?? 0]
      const perDay = (value: number) => rounded(Math.max(0, value) / Math.max(1, days))
      const estimates = plmns
        .map((other, at): OperatorEstimate => {
          const own = sim * plmns.length + at
          const knownShare = minutes === 0 ? 0 : (known[own] ?? 0) / minutes
          const isKnown = knownShare >= enoughKnown
          const estimate = isKnown ? perDay(noService + (change[own] ?? 0)) : null
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
