export type FairTurns = {
  /**
   * Runs `work` and returns its result: at once while this turn of the event loop has time left, otherwise in a later
   * turn, after at most one piece of work of every other owner that waits. Work of one owner keeps its order.
   */
  run<Result>(owner: string, work: () => Result): Result | Promise<Result>
}

/**
 * Shares the event loop between owners of work. `turnMs` is the maximum time for their work before the event loop serves
 * connections again; `nowMs` is a monotonic clock.
 */
export function createFairTurns(turnMs: number, nowMs: () => number = () => performance.now()): FairTurns {
  const waiting = new Map<string, (() => void)[]>()
  let usedMs = 0
  let isScheduled = false

  function timed<Result>(work: () => Result): Result {
    const startMs = nowMs()
    if (!isScheduled) {
      isScheduled = true
      setImmediate(nextTurn)
    }
    try {
      return work()
    } finally {
      usedMs += nowMs() - startMs
    }
  }

  function nextTurn(): void {
    isScheduled = false
    usedMs = 0
    while (usedMs < turnMs) {
      const [first] = waiting
      if (first === undefined) return
      const [owner, jobs] = first
      const job = jobs.shift()
      // An owner with more work moves to the end.
      waiting.delete(owner)
      if (jobs.length > 0) waiting.set(owner, jobs)
      if (job) timed(job)
    }
  }

  return {
    run(owner, work) {
      if (usedMs < turnMs && waiting.size === 0) return timed(work)
      return new Promise((resolve, reject) => {
        const job = () => {
          try {
            resolve(work())
          } catch (error) {
            reject(error)
          }
        }
        const jobs = waiting.get(owner)
        if (jobs) jobs.push(job)
        else waiting.set(owner, [job])
      })
    },
  }
}
