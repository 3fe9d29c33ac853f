import type { Page, PageRequest } from '#fleet/paging'
import type { Reply, RouteInput } from './route.ts'

type PagedInput = RouteInput<unknown, { cursor?: string | undefined; limit: number }, unknown>

/** The page size and start position for a list verb. Throws 400 if the cursor belongs to another request. */
export function pageRequest(input: PagedInput): PageRequest {
  const { cursor, limit } = input.query
  return { limit, after: cursor === undefined ? undefined : input.services.cursors.open(cursor, queryOf(input)) }
}

/** The response of a list, of which `read` returns a page. */
export const paged = async (
  input: PagedInput,
  read: (page: PageRequest) => Page<unknown> | Promise<Page<unknown>>,
): Promise<Reply> => pageReply(input, await read(pageRequest(input)))

/** The response `{items, nextCursor}`, with the next page's URL as a `Link` header (RFC 8288). */
export function pageReply(input: PagedInput, page: Page<unknown>): Reply {
  const nextCursor = nextCursorOf(input, page.nextAfter)
  const body = { items: page.items, nextCursor }
  if (nextCursor === null) return { status: 200, body }
  const url = new URL(input.http.req.url)
  url.searchParams.set('cursor', nextCursor)
  return { status: 200, body, headers: { Link: `<${url.pathname}${url.search}>; rel="next"` } }
}

/** The cursor of the next page; null after the last one. */
export const nextCursorOf = (input: PagedInput, nextAfter: string | null): string | null =>
  nextAfter === null ? null : input.services.cursors.seal(nextAfter, queryOf(input))

/** A cursor is valid for this caller, path and filters, with any page size and format. */
const queryOf = ({ ctx, query, http }: PagedInput) => {
  const { cursor: _cursor, limit: _limit, format: _format, ...filters } = query as Record<string, unknown>
  return [ctx.principal.id, http.req.path, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]
}
