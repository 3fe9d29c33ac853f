import type { Caller } from '../api/schemas.ts'

/** What tells whether somebody else signs in. */
type Signed = Pick<Caller, 'id' | 'platform'> & { organizations: readonly { id: string }[] }

const isKey = ({ id }: Signed): boolean => id.startsWith('key:')

/**
 * Returns whether what the page shows and what was typed may stay when `next` signs in after the access of `before` ended: the
 * same person, or a key that reaches at least what an earlier key reached.
 */
export function isSameReader(before: Signed, next: Signed): boolean {
  if (before.id === next.id) return true
  if (!isKey(before) || !isKey(next)) return false
  if (next.platform) return true
  const reached = new Set(next.organizations.map(({ id }) => id))
  return !before.platform && before.organizations.every(({ id }) => reached.has(id))
}
