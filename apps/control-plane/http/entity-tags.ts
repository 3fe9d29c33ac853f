import type { Context } from 'hono'
import { matchesNone, requireMatch } from '#http/etag'
import type { Reply } from './route.ts'

/** A single object with its entity tag; 304 without a body when a GET's `If-None-Match` names it. */
export function entityReply(http: Context, tag: string, body: unknown): Reply {
  const headers = { ETag: tag }
  const isRead = http.req.method === 'GET' || http.req.method === 'HEAD'
  if (isRead && matchesNone(http.req.header('if-none-match'), tag)) return { status: 304, headers }
  return { status: 200, body, headers }
}

/** What a verb calls with the object it is about to change: throws 412 when `If-Match` names another state of it. */
export const expecting =
  <Entity>(http: Context, tagOf: (entity: Entity) => string) =>
  (current: Entity): void =>
    requireMatch(http.req.header('if-match'), tagOf(current))

/** The answers every single object's GET adds, and every change that honours `If-Match`. */
export const notModified = { 304: { description: 'Still what `If-None-Match` names.', headers: ['ETag'] } }
export const preconditionFailed = { 412: { description: 'It was changed since the state `If-Match` names.' } }
