/** A bounded piece of work, which may run in a later round. `hasMore`: it must run again. */
export type Piece = () => Promise<{ changes: number; hasMore: boolean }>

type Round = {
  /** The owners that may have work. */
  owners: readonly string[]
  /** The work of an owner, in order. Called unless the owner has work left from its last turn. */
  workOf: (owner: string) => readonly Piece[] | Promise<readonly Piece[]>
  /** Work that is left at the end of the round is not kept: its pieces belong to this round. */
  startsOver?: boolean
  /** No piece of a turn starts after this time. */
  turnMs?: number
  /** No turn starts after this time. */
  roundMs?: number
  /** No turn starts after so many changes. */
  maxChanges?: number
}

export type FairRounds = {
  /**
   * Gives each owner a turn, and further turns to those with work left, until none has any or the round is over. The next
   * round continues where each owner stopped, and starts with the owners that have waited longest. Returns the number of
   * changes. Rejects when the store is unavailable.
   */
  run(round: Round): Promise<number>
  /** Reports an error of work that a piece has started. Throws it if nobody receives errors. */
  report(error: unknown, owner: string): void
}

type Options = {
  /** Receives the error of a piece, which is skipped. Undefined: the round throws the first error at its end. */
  onError?: (error: unknown, owner: string) => void
  /** Whether an error can mean that the store is unavailable to all owners. */
  isUnavailable?: (error: unknown) => boolean
  /** A monotonic clock. */
  nowMs?: () => number
}

const defaultTurnMs = 1_000
const defaultRoundMs = 15_000
// One owner alone can cause such an error, for example with a statement that takes too long.
const maxUnavailableOwners = 3

/**
 * Shares the rounds of a task between owners, so that neither the amount of work of one owner nor its errors stop the
 * others. Several processes may run rounds of the same task if its pieces allow that.
 */
export function createFairRounds({
  onError,
  isUnavailable = () => false,
  nowMs = () => performance.now(),
}: Options = {}): FairRounds {
  // The owners of the last round, in order of their turns, with the work that was left.
  const served = new Map<string, Piece[]>()

  /** The listed owners: first those without a turn so far, then the others in order of their last turns. */
  function inOrder(owners: readonly string[]): string[] {
    const listed = new Set(owners)
    for (const owner of served.keys()) if (!listed.has(owner)) served.delete(owner)
    return [...[...listed].filter((owner) => !served.has(owner)), ...served.keys()]
  }

  /** Runs the pieces of an owner until `endMs`, at least one. */
  async function takeTurn(owner: string, round: Round, endMs: number, failed: (error: unknown) => void) {
    const left = served.get(owner) ?? []
    // An owner that had a turn moves to the end.
    served.delete(owner)
    served.set(owner, left)
    const total = { changes: 0, succeeded: false }
    try {
      if (left.length === 0) left.push(...(await round.workOf(owner)))
    } catch (error) {
      failed(error)
    }
    for (let piece = left[0]; piece !== undefined; piece = left[0]) {
      try {
        const { changes, hasMore } = await piece()
        total.changes += changes
        total.succeeded = true
        if (!hasMore) left.shift()
      } catch (error) {
        left.shift()
        failed(error)
      }
      if (nowMs() >= endMs) break
    }
    return { ...total, hasMore: left.length > 0 }
  }

  return {
    async run(round) {
      const { turnMs = defaultTurnMs, roundMs = defaultRoundMs, maxChanges = Number.POSITIVE_INFINITY } = round
      const endMs = nowMs() + roundMs
      if (round.startsOver) for (const left of served.values()) left.length = 0
      const errors: unknown[] = []
      const unavailable = new Set<string>()
      let changes = 0
      for (let waiting = inOrder(round.owners); waiting.length > 0; ) {
        const unfinished: string[] = []
        for (const owner of waiting) {
          const startMs = nowMs()
          if (startMs >= endMs || changes >= maxChanges) return finished(changes, errors)
          const failed = (error: unknown) => {
            if (isUnavailable(error)) unavailable.add(owner)
            if (unavailable.size >= maxUnavailableOwners) throw error
            if (onError) onError(error, owner)
            else errors.push(error)
          }
          const turn = await takeTurn(owner, round, Math.min(startMs + turnMs, endMs), failed)
          changes += turn.changes
          if (turn.succeeded) unavailable.clear()
          if (turn.hasMore) unfinished.push(owner)
        }
        waiting = unfinished
      }
      return finished(changes, errors)
    },
    report(error, owner) {
      if (!onError) throw error
      onError(error, owner)
    },
  }
}

function finished(changes: number, errors: readonly unknown[]): number {
  if (errors.length > 0) throw errors[0]
  return changes
}
