/** Where a list ordered by (created_at, id) goes on. `at` is Postgres's own text, which keeps the microseconds. */
export type KeysetPosition = { at: string; id: string }

/** The position behind a page's last row, or null when there is no further page. */
export const encodePosition = (last: { created_text: string; id: string } | undefined): string | null =>
  last === undefined ? null : `${last.created_text}|${last.id}`

/** What `encodePosition` wrote; positions come back signed, so their form needs no checking. */
export function decodePosition(position: string | undefined): KeysetPosition | undefined {
  if (position === undefined) return undefined
  const split = position.lastIndexOf('|')
  return { at: position.slice(0, split), id: position.slice(split + 1) }
}
