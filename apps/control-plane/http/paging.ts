import type { Reply, RouteInput } from './route.ts'

/** A page as domain verbs return it: `nextAfter` is the keyset position the next page starts behind, null at the end. */
export type Page<Item> = { items: Item[]; nextAfter: string | null }

type PagedInput = RouteInput<unknown, { cursor?: string | undefined; limit: number }, unknown>

/** What a list verb needs of the request: how many, and behind which position. Throws 400 for a foreign cursor. */
export function pageRequest(input: PagedInput): { limit: number; after: string | undefined } {
  const { cursor, limit } = input.query
  return { limit, after: cursor === undefined ? undefined : input.services.cursors.open(cursor, queryOf(input)) }
}

/** The list answer `{items, nextCursor}`, and the same link as a `Link` header (RFC 8288). */
export function pageReply(input: PagedInput, page: Page<unknown>): Reply {
  const nextCursor = page.nextAfter === null ? null : input.services.cursors.seal(page.nextAfter, queryOf(input))
  const body = { items: page.items, nextCursor }
  if (nextCursor === null) return { status: 200, body }
  const url = new URL(input.http.req.url)
  url.searchParams.set('cursor', nextCursor)
  return { status: 200, body, headers: { Link: `<${url.pathname}${url.search}>; rel="next"` } }
}

/** What a cursor is good for: this caller, this path and these filters, on pages of any size. */
const queryOf = ({ ctx, query, http }: PagedInput) => {
  const { cursor: _cursor, limit: _limit, ...filters } = query as Record<string, unknown>
  return [ctx.principal.id, http.req.path, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]
}
