export type LimitedWait = { until: Promise<void>; end: () => void }

/** Waits until `end` is called, or the time has passed: then it calls `onTimeout`. */
export function waitAtMost(limitMs: number, onTimeout: () => void): LimitedWait {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    onTimeout()
    resolve()
  }, limitMs).unref()
  const end = () => {
    clearTimeout(timer)
    resolve()
  }
  return { until: promise, end }
}
