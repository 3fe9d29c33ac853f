export type FairLine = {
  /** Runs `work` when its turn comes and returns its result. Work of one device keeps its order. */
  run<Result>(deviceId: string, work: () => Promise<Result>): Promise<Result>
  /** Returns the number of waiting pieces of work. */
  waiting(): number
}

/** Runs at most `atOnce` pieces of asynchronous work at a time, one of each waiting device in turn. */
export function createFairLine(atOnce: number): FairLine {
  const devices = new Map<string, (() => void)[]>()
  let running = 0
  let waiting = 0

  function next(): void {
    const [first] = devices
    if (first === undefined || running >= atOnce) return
    const [deviceId, jobs] = first
    const job = jobs.shift()
    // A device with more work moves to the end.
    devices.delete(deviceId)
    if (jobs.length > 0) devices.set(deviceId, jobs)
    waiting -= 1
    running += 1
    job?.()
  }

  return {
    run(deviceId, work) {
      return new Promise((resolve, reject) => {
        const job = () => {
          work()
            .finally(() => {
              running -= 1
              next()
            })
            .then(resolve, reject)
        }
        const jobs = devices.get(deviceId)
        if (jobs) jobs.push(job)
        else devices.set(deviceId, [job])
        waiting += 1
        next()
      })
    },
    waiting: () => waiting,
  }
}
