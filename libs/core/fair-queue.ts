import { clientClosedRequest, ServiceError, throwIfClosed } from '#core/errors'

export type FairQueue = {
  /**
   * Runs work when it is the owner's turn. Waiting owners take turns, regardless of how many requests each has. Throws 429
   * `too_many_reads` when too many requests of the owner wait or the turn does not come within `maxWaitMs`, and 499 when the
   * signal aborts before the work starts.
   */
  run<Result>(owner: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
}

export type FairQueueLimits = {
  maxRunning: number
  /** Undefined: one owner may use all capacity while no other waits. */
  maxRunningPerOwner?: number
  /** Undefined: no limit. */
  maxWaitingPerOwner?: number
  /** The longest wait for a turn. Undefined: no limit. */
  maxWaitMs?: number
  /** Makes the error for refused work. Undefined: 429 `too_many_reads`. */
  refusal?: (reason: string, refused: Refused) => Error
}

/** The owner whose work is refused. `isRunning`: other work of it runs, so that it waited at least in part for itself. */
type Refused = { owner: string; isRunning: boolean }

type Owner = { running: number; waiting: Set<() => void> }

const retryAfterSeconds = 2

/** Limits how much work runs at a time, in total and per owner, so that one owner cannot use all capacity. */
export function createFairQueue(limits: FairQueueLimits): FairQueue {
  const { maxRunning, maxRunningPerOwner = maxRunning, maxWaitingPerOwner = Number.POSITIVE_INFINITY } = limits
  // In order of turns: an owner whose work starts or ends moves to the end.
  const owners = new Map<string, Owner>()
  let running = 0
  const refuse = limits.refusal ?? tooManyReads
  const refusalOf = (name: string, owner: Owner, reason: string): Error =>
    refuse(reason, { owner: name, isRunning: owner.running > 0 })

  const startWaiting = (): void => {
    for (const [name, owner] of owners) {
      if (running >= maxRunning) return
      const [start] = owner.waiting
      if (!start || owner.running >= maxRunningPerOwner) continue
      owner.waiting.delete(start)
      owner.running++
      running++
      moveToEnd(name, owner)
      start()
    }
  }

  const moveToEnd = (name: string, owner: Owner): void => {
    owners.delete(name)
    if (owner.running > 0 || owner.waiting.size > 0) owners.set(name, owner)
  }

  const waitForTurn = (name: string, owner: Owner, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (error: Error) => {
        stopWaiting()
        owner.waiting.delete(start)
        moveToEnd(name, owner)
        reject(error)
      }
      const onAbort = () => leave(clientClosedRequest())
      const { maxWaitMs } = limits
      const timer =
        maxWaitMs === undefined
          ? undefined
          : setTimeout(
              () => leave(refusalOf(name, owner, `Your earlier requests took longer than ${maxWaitMs / 1_000} s.`)),
              maxWaitMs,
            ).unref()
      const stopWaiting = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const start = () => {
        stopWaiting()
        resolve()
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      owner.waiting.add(start)
      startWaiting()
    })

  return {
    async run(name, work, signal) {
      throwIfClosed(signal)
      const owner = owners.get(name) ?? { running: 0, waiting: new Set() }
      if (owner.waiting.size >= maxWaitingPerOwner)
        throw refusalOf(name, owner, `More than ${maxWaitingPerOwner} of your requests are waiting.`)
      owners.set(name, owner)
      await waitForTurn(name, owner, signal)
      try {
        return await work()
      } finally {
        owner.running--
        running--
        moveToEnd(name, owner)
        startWaiting()
      }
    },
  }
}

const tooManyReads = (reason: string) =>
  new ServiceError(429, 'too_many_reads', `${reason} Retry in ${retryAfterSeconds} s.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
