/** Lets the reader of a partition wait until its tail is far enough. Only one caller may wait. */
export type TailWait = {
  /** Resolves when `isReached` holds at a call of `check`, after `wake`, or after `timeoutMs`. */
  until(isReached: () => boolean, timeoutMs: number): Promise<void>
  check(): void
  wake(): void
}

export function createTailWait(): TailWait {
  let waiting: { isReached: () => boolean; end: () => void } | undefined
  return {
    until(isReached, timeoutMs) {
      if (isReached()) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(() => waiting?.end(), timeoutMs)
        waiting = {
          isReached,
          end() {
            clearTimeout(timer)
            waiting = undefined
            resolve()
          },
        }
      })
    },
    check() {
      if (waiting?.isReached()) waiting.end()
    },
    wake: () => waiting?.end(),
  }
}
