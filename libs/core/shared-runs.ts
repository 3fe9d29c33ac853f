/**
 * Returns a function that runs `work` for its callers, one run after another. Callers that come during a run share the next
 * one, because the work of theirs must begin after they came. So any number of concurrent callers causes two runs at most.
 */
export function sharedRuns<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  let next: Promise<Result> | undefined

  const begin = (): Promise<Result> => {
    const run = work()
    running = run
    const end = () => {
      if (running === run) running = undefined
    }
    run.then(end, end)
    return run
  }

  return () => {
    if (!running) return begin()
    const after = () => {
      next = undefined
      return begin()
    }
    next ??= running.then(after, after)
    return next
  }
}
