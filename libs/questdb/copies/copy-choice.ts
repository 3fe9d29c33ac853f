/** What is known about a copy when the one to read is chosen. */
export type CopyState = {
  /** Whether it answers queries. */
  answers: boolean
  /** All reports accepted more than this time ago can be read. Undefined: unknown. */
  lagMs: number | undefined
  /** For how long it has answered and lagged less than `returnLagMs`. */
  soundForMs: number
}

/** A copy that lags this much is read only if no other is better. */
const maxLagMs = 60_000
/**
 * A preferred copy is read again when it has answered and lagged less than this for `returnAfterMs`. Both limits keep a copy
 * that fails repeatedly from being read in between, and a reader from going back in time by much.
 */
export const returnLagMs = 15_000
const returnAfterMs = 15_000

/** Returns whether the copy answers and lags less than 60 s. */
export const isEligible = ({ answers, lagMs }: CopyState): boolean => answers && lagMs !== undefined && lagMs < maxLagMs

/**
 * Returns the index of the copy to read: the first of the order that is eligible. The current one remains until it is not
 * eligible or until an earlier one has been sound for a while. Without an eligible copy, the current one remains while it
 * answers; then the one that answers and lags least.
 */
export function chooseCopy(states: readonly CopyState[], current: number): number {
  const known = states[current]
  if (known && isEligible(known)) {
    const preferred = states.findIndex((state) => isEligible(state) && state.soundForMs >= returnAfterMs)
    return preferred >= 0 && preferred < current ? preferred : current
  }
  const eligible = states.findIndex(isEligible)
  if (eligible >= 0) return eligible
  if (known?.answers) return current
  const lagOf = ({ lagMs = Number.POSITIVE_INFINITY }: CopyState) => lagMs
  const answering = states.flatMap((state, index) => (state.answers ? [{ state, index }] : []))
  const [best] = answering.sort((one, other) => lagOf(one.state) - lagOf(other.state) || one.index - other.index)
  return best?.index ?? current
}
