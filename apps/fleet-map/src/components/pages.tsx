import { useEffect, useState } from 'preact/hooks'
import { ApiError, getPage, isPassing } from '../api/client.ts'
import type { ApiAddress, ListItemOf, Operation, QueryOf } from '../api/operations.ts'

/** A list as far as it was read. `more` reads the next page; undefined at the end. */
export type ListPages<Item> = {
  items: Item[]
  error: ApiError | undefined
  loading: boolean
  more: (() => void) | undefined
  reload: () => void
}

type Pages<Item> = { key: string; items: Item[]; cursor: string | null; error?: ApiError; loading: boolean }

/**
 * Reads a list page by page. After a change of the query, the old rows stay until the new ones arrive; after a change of
 * the path, the list starts empty. A null path reads nothing.
 */
export function usePages<Asked extends ApiAddress<'get'>>(
  path: Asked | null,
  query: QueryOf<Operation<'get', Asked>>,
): ListPages<ListItemOf<Operation<'get', Asked>>> {
  type Item = ListItemOf<Operation<'get', Asked>>
  const key = JSON.stringify([path, query])
  const [state, setState] = useState<Pages<Item> & { path: string | null }>({ ...initialPages, path })
  const [round, setRound] = useState(0)

  const read = async (items: Item[], cursor: string | null, signal: AbortSignal | null) => {
    if (path === null) return
    let next: Pages<Item>
    try {
      const page = await getPage(path, { query, cursor, limit: 100, signal })
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
  const { error } = state
  useEffect(() => {
    if (!error || !isPassing(error)) return
    const timer = setTimeout(
      () => setRound((before) => before + 1),
      Math.max(retryMs, (error.retryAfterS ?? 0) * 1_000),
    )
    return () => clearTimeout(timer)
  }, [error])

  const shown: Pages<Item> = state.path === path ? state : initialPages
  return {
    items: shown.items,
    error: shown.error,
    loading: shown.loading || shown.key !== key,
    more: shown.cursor === null || shown.key !== key ? undefined : () => read(shown.items, shown.cursor, null),
    reload: () => setRound((before) => before + 1),
  }
}

const retryMs = 5_000

const initialPages: Pages<never> = { key: '', items: [], cursor: null, loading: true }

export const MoreButton = ({ more }: { more: (() => void) | undefined }) =>
  more ? (
    <button type="button" class="button" style={{ justifySelf: 'center' }} onClick={more}>
      Show more
    </button>
  ) : null
