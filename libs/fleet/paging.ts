/** A requested page: at most `limit` items after the position `after` of an earlier page. */
export type PageRequest = { limit: number; after: string | undefined }

/** One page of a list. `nextAfter` is the position after its last item, or null on the last page. */
export type Page<Item> = { items: Item[]; nextAfter: string | null }

const idOf = ({ id }: { id: string }) => id

/** The page of a query that read one row more than `limit`; lists are ordered by id. */
export const pageOf = <Row extends { id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): Page<Item> => pageBy(rows, limit, toItem, idOf)

/** `pageOf` for a list in another order; `positionOf` returns the position of a row. */
export function pageBy<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items: shown.map((row) => toItem(row)), nextAfter: last === undefined ? null : positionOf(last) }
}

/** A position in a list ordered by (created_at, id). `at` is Postgres' own text, which keeps the microseconds. */
type KeysetPosition = { at: string; id: string }

/** The position of a row in a list ordered by (created_at, id). */
export const encodePosition = (row: { created_text: string; id: string }): string => `${row.created_text}|${row.id}`

/** Parses the result of `encodePosition`. Positions come back signed, so their form needs no check. */
export function decodePosition(position: string | undefined): KeysetPosition | undefined {
  if (position === undefined) return undefined
  const split = position.lastIndexOf('|')
  return { at: position.slice(0, split), id: position.slice(split + 1) }
}
