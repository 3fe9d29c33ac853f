import { useEffect, useState } from 'preact/hooks'
import { ApiError, call, type Query } from '../api/client.ts'
import type { Page } from '../api/types.ts'

type Pages<Item> = { key: string; items: Item[]; cursor: string | null; error?: ApiError; loading: boolean }

/**
 * A list read page by page on request. Another query keeps the rows until its own are here; another path starts empty.
 * Nothing is read while the path is null.
 */
export function usePages<Item>(path: string | null, query: Query) {
  const key = JSON.stringify([path, query])
  const [state, setState] = useState<Pages<Item> & { path: string | null }>({ ...nothingYet, path })
  const [round, setRound] = useState(0)

  const read = async (items: Item[], cursor: string | null, signal: AbortSignal | null) => {
    if (path === null) return
    let next: Pages<Item>
    try {
      const page = await call<Page<Item>>(path, {
        query: { limit: 100, ...query, cursor },
        ...(signal ? { signal } : {}),
      })
      next = { key, items: [...items, ...page.items], cursor: page.nextCursor, loading: false }
    } catch (failure) {
      const error = failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure))
      next = { key, items, cursor: null, error, loading: false }
    }
    if (!signal?.aborted) setState({ ...next, path })
  }
  useEffect(() => {
    const abort = new AbortController()
    void read([], null, abort.signal)
    return () => abort.abort()
  }, [key, round])

  const shown: Pages<Item> = state.path === path ? state : nothingYet
  return {
    items: shown.items,
    error: shown.error,
    loading: shown.loading || shown.key !== key,
    more: shown.cursor === null || shown.key !== key ? undefined : () => read(shown.items, shown.cursor, null),
    reload: () => setRound((before) => before + 1),
  }
}

const nothingYet: Pages<never> = { key: '', items: [], cursor: null, loading: true }

export const MoreButton = ({ more }: { more: (() => void) | undefined }) =>
  more ? (
    <button type="button" class="button" style={{ justifySelf: 'center' }} onClick={more}>
      Show more
    </button>
  ) : null
