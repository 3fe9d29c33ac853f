import { clientGone, ServiceError, throwIfGone } from '#core/errors'

export type FairQueue = {
  /**
   * Runs work when it is the owner's turn. Owners that wait take turns, whatever number of requests each has. Throws 429
   * `too_many_reads` when the owner has too much waiting or the turn does not come within `maxWaitMs`, and 499 when the signal aborts before the work began.
   */
  run<Result>(owner: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
}

export type FairQueueLimits = {
  maxRunning: number
  maxRunningPerOwner: number
  maxWaitingPerOwner: number
  /** How long work may wait for its turn; without end when undefined. */
  maxWaitMs?: number
  /** The refusal of work for this reason; 429 `too_many_reads` when undefined. */
  refusal?: (reason: string) => ServiceError
}

type Owner = { running: number; waiting: Set<() => void> }

const retryAfterSeconds = 2

/** Shares a limited number of places between owners, so that one owner cannot occupy all of them. */
export function createFairQueue(limits: FairQueueLimits): FairQueue {
  // In order of turns: an owner whose work starts or ends goes to the end.
  const owners = new Map<string, Owner>()
  let running = 0
  const refuse = limits.refusal ?? tooManyReads

  const startWaiting = (): void => {
    for (const [name, owner] of owners) {
      if (running >= limits.maxRunning) return
      const [start] = owner.waiting
      if (!start || owner.running >= limits.maxRunningPerOwner) continue
      owner.waiting.delete(start)
      owner.running++
      running++
      toEnd(name, owner)
      start()
    }
  }

  const toEnd = (name: string, owner: Owner): void => {
    owners.delete(name)
    if (owner.running > 0 || owner.waiting.size > 0) owners.set(name, owner)
  }

  const waitForTurn = (name: string, owner: Owner, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (error: Error) => {
        stopWaiting()
        owner.waiting.delete(start)
        toEnd(name, owner)
        reject(error)
      }
      const onAbort = () => leave(clientGone())
      const { maxWaitMs } = limits
      const timer =
        maxWaitMs === undefined
          ? undefined
          : setTimeout(
              () => leave(refuse(`Your earlier requests took longer than ${maxWaitMs / 1_000} s.`)),
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
      throwIfGone(signal)
      const owner = owners.get(name) ?? { running: 0, waiting: new Set() }
      if (owner.waiting.size >= limits.maxWaitingPerOwner)
        throw refuse(`More than ${limits.maxWaitingPerOwner} of your requests are waiting.`)
      owners.set(name, owner)
      await waitForTurn(name, owner, signal)
      try {
        return await work()
      } finally {
        owner.running--
        running--
        toEnd(name, owner)
        startWaiting()
      }
    },
  }
}

const tooManyReads = (reason: string) =>
  new ServiceError(429, 'too_many_reads', `${reason} Retry in ${retryAfterSeconds} s.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
