import { ServiceError } from '#core/errors'

/** The strong entity tag of a revision number. */
export const revisionTag = (revision: number | string): string => `"${revision}"`

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"|\*/g) ?? []

/** Weak comparison (RFC 9110 13.1.2): true when a GET with this `If-None-Match` must return 304. */
export function matchesNone(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  const plain = tag.replace(/^W\//, '')
  return tagsOf(header).some((candidate) => candidate === '*' || candidate.replace(/^W\//, '') === plain)
}

/** Throws 412 when `If-Match` is present and does not match the tag (RFC 9110 13.1.1, strong comparison). */
export function requireMatch(header: string | undefined, tag: string): void {
  if (header === undefined) return
  if (tagsOf(header).some((candidate) => candidate === '*' || candidate === tag)) return
  throw new ServiceError(412, 'precondition_failed', 'The object has changed since it was read. Read it again.', {
    headers: { ETag: tag },
  })
}
