import type { Context } from 'hono'
import { matchesNone, requireMatch } from '#http/etag'
import type { Reply } from './route.ts'

/** A single object with its entity tag, or 304 without a body if `If-None-Match` of a GET contains the tag. */
export function entityReply(http: Context, tag: string, body: unknown): Reply {
  const headers = { ETag: tag }
  const isRead = http.req.method === 'GET' || http.req.method === 'HEAD'
  if (isRead && matchesNone(http.req.header('if-none-match'), tag)) return { status: 304, headers }
  return { status: 200, body, headers }
}

/** Returns a check that a verb calls before it changes an object. Throws 412 if `If-Match` has another version's tag. */
export const expecting =
  <Entity>(http: Context, tagOf: (entity: Entity) => string) =>
  (current: Entity): void =>
    requireMatch(http.req.header('if-match'), tagOf(current))

/** Documented responses of a GET with `If-None-Match`, and of a change with `If-Match`. */
export const notModified = {
  304: { description: 'The object has not changed since the version in `If-None-Match`.', headers: ['ETag'] },
}
export const preconditionFailed = { 412: { description: 'The object has changed since the version in `If-Match`.' } }
