import { ApiError, isNotInPlan, isPassing } from '../api/client.ts'

export type Read<Value> = (signal: AbortSignal) => Promise<Value>
export type Outcome<Value> = { value: Value } | { error: ApiError }

const retryMs = 5_000
const hiddenFactor = 6

/**
 * Reads now, and again every `everyMs` if that is not 0; less often while the page is hidden. After an error that can pass, tries
 * again; what the plan of an organization lacks is asked for once. Returns a function that stops it.
 */
export function readAgain<Value>(
  read: Read<Value>,
  everyMs: number,
  onOutcome: (outcome: Outcome<Value>) => void,
): () => void {
  const abort = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isKnown = false
  const once = async () => {
    let nextMs = everyMs
    try {
      const value = await read(abort.signal)
      isKnown = true
      if (!abort.signal.aborted) onOutcome({ value })
    } catch (failure) {
      if (abort.signal.aborted) return
      const error = failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure))
      onOutcome({ error })
      // An empty part of the page is filled as soon as possible; an old value can wait for its turn.
      if (isPassing(error)) nextMs = Math.max(isKnown ? everyMs : 0, retryMs, (error.retryAfterS ?? 0) * 1_000)
      if (isNotInPlan(error)) nextMs = 0
    }
    if (nextMs > 0 && !abort.signal.aborted) timer = setTimeout(once, document.hidden ? nextMs * hiddenFactor : nextMs)
  }
  void once()
  return () => {
    abort.abort()
    clearTimeout(timer)
  }
}
