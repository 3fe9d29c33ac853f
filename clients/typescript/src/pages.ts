import type { paths } from './openapi.ts'
import type { Send } from './request.ts'

type Page = { items: unknown[]; nextCursor: string | null }
type PageOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body extends Page } } } }
}
  ? Body
  : never

/** The paths of lists, which return pages with `items` and `nextCursor`. */
export type ListPath = { [Path in keyof paths]: PageOf<Path> extends never ? never : Path }[keyof paths]
export type ItemOf<Path extends ListPath> = PageOf<Path>['items'][number]

type AnyInit = { params?: { query?: Record<string, unknown> } }

/** Yields the items of a list and requests the next page when one is used up. */
export async function* listItems<Path extends ListPath>(
  get: Send<'get'>,
  path: Path,
  init: unknown,
): AsyncGenerator<ItemOf<Path>, void> {
  const { params, ...options } = (init ?? {}) as AnyInit
  for (let cursor: string | null = null; ; ) {
    const query = cursor === null ? params?.query : { ...params?.query, cursor }
    const page = (await get(path as never, { ...options, params: { ...params, query } } as never)) as Page
    yield* page.items as ItemOf<Path>[]
    cursor = page.nextCursor
    if (cursor === null) return
  }
}
