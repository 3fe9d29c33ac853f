import { useEffect, useState } from 'preact/hooks'
import { ApiError, call, type Query } from '../api/client.ts'
import type { Page } from '../api/types.ts'

/** A list read page by page on request; `key` names list and filters, a change starts over. */
export function usePages<Item>(path: string, query: Query) {
  const key = JSON.stringify([path, query])
  const [state, setState] = useState<{
    key: string
    path: string
    items: Item[]
    cursor: string | null
    error?: ApiError
    loading: boolean
  }>({
    key: '',
    path,
    items: [],
    cursor: null,
    loading: true,
  })
  const [round, setRound] = useState(0)

  const read = async (items: Item[], cursor: string | null, signal: AbortSignal | null) => {
    try {
      const page = await call<Page<Item>>(path, {
        query: { limit: 100, ...query, cursor },
        ...(signal ? { signal } : {}),
      })
      setState({ key, path, items: [...items, ...page.items], cursor: page.nextCursor, loading: false })
    } catch (failure) {
      if (signal?.aborted) return
      const error = failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure))
      setState({ key, path, items, cursor: null, error, loading: false })
    }
  }
  // Rows of the same list stay until the new ones are here; those of another would be wrong.
  const waiting = (before: typeof state): typeof state => ({
    key: before.key,
    path,
    items: before.path === path ? before.items : [],
    cursor: null,
    loading: true,
  })
  useEffect(() => {
    const abort = new AbortController()
    setState((before) => (before.key === key ? before : waiting(before)))
    void read([], null, abort.signal)
    return () => abort.abort()
  }, [key, round])

  return {
    items: state.items,
    error: state.error,
    loading: state.loading,
    more: state.cursor === null ? undefined : () => read(state.items, state.cursor, null),
    reload: () => setRound((before) => before + 1),
  }
}

export const MoreButton = ({ more }: { more: (() => void) | undefined }) =>
  more ? (
    <button type="button" class="button" style={{ justifySelf: 'center' }} onClick={more}>
      Show more
    </button>
  ) : null
