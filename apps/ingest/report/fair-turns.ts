export type FairTurns = {
  /**
   * Runs `work` and returns its result: at once while this turn of the event loop has time left, otherwise in a later
   * turn, after at most one piece of work of every other device that waits. Work of one device keeps its order.
   */
  run<Result>(deviceId: string, work: () => Result): Result | Promise<Result>
}

/** Maximum time for checking reports before the event loop serves connections again. */
const turnMs = 20

/** Shares the event loop between devices whose reports are expensive to check. `nowMs` is a monotonic clock. */
export function createFairTurns(nowMs: () => number = () => performance.now()): FairTurns {
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
      const [deviceId, jobs] = first
      const job = jobs.shift()
      // A device with more work moves to the end.
      waiting.delete(deviceId)
      if (jobs.length > 0) waiting.set(deviceId, jobs)
      if (job) timed(job)
    }
  }

  return {
    run(deviceId, work) {
      if (usedMs < turnMs && waiting.size === 0) return timed(work)
      return new Promise((resolve, reject) => {
        const job = () => {
          try {
            resolve(work())
          } catch (error) {
            reject(error)
          }
        }
        const jobs = waiting.get(deviceId)
        if (jobs) jobs.push(job)
        else waiting.set(deviceId, [job])
      })
    },
  }
}
