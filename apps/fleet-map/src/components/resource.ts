import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, isPassing } from '../api/client.ts'

export type Resource<Value> = {
  value: Value | undefined
  error: ApiError | undefined
  loading: boolean
  reload: () => void
}

const retryMs = 5_000

/**
 * Reads a value whenever `key` changes, and again every `everyMs` (six times less often while the page is hidden). Keeps
 * the old value until the new one arrives, so that the page does not flicker. Tries again after errors that can pass.
 */
export function useResource<Value>(
  key: string,
  read: (signal: AbortSignal) => Promise<Value>,
  { everyMs = 0 }: { everyMs?: number } = {},
): Resource<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: ApiError }>({ key: '' })
  const [round, setRound] = useState(0)

  // `key` names everything that `read` depends on, so a new closure alone starts no read.
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isKnown = false
    const once = async () => {
      let nextMs = everyMs
      try {
        const value = await read(abort.signal)
        isKnown = true
        if (!abort.signal.aborted) setState({ key, value })
      } catch (error) {
        if (abort.signal.aborted) return
        const refusal = error instanceof ApiError ? error : new ApiError(0, 'error', String(error))
        setState((before) => (before.key === key ? { ...before, error: refusal } : { key, error: refusal }))
        // An empty part of the page is filled as soon as possible; an old value can wait for its turn.
        if (isPassing(refusal)) nextMs = Math.max(isKnown ? everyMs : 0, retryMs, (refusal.retryAfterS ?? 0) * 1_000)
      }
      if (nextMs > 0 && !abort.signal.aborted) timer = setTimeout(once, document.hidden ? nextMs * 6 : nextMs)
    }
    void once()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [key, round, everyMs])

  const reload = useCallback(() => setRound((before) => before + 1), [])
  const current = state.key === key ? state : { key }
  return {
    value: 'value' in current ? current.value : undefined,
    error: 'error' in current ? current.error : undefined,
    loading: state.key !== key,
    reload,
  }
}
