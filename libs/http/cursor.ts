import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { badRequest } from '#core/errors'

export type Cursors = {
  /** Returns an opaque cursor for a keyset position, valid only for the same `boundTo` (path, filters, caller). */
  seal(position: string, boundTo: unknown): string
  /** Returns the position of a cursor. Throws 400 `invalid_cursor` when it was altered or belongs to another query. */
  open(cursor: string, boundTo: unknown): string
}

const tagBytes = 16

/** Creates cursors signed with HMAC-SHA256, so that a position cannot be forged or used for another query. */
export function createCursors(key: Buffer): Cursors {
  const tagOf = (position: Buffer, boundTo: unknown) =>
    createHmac('sha256', key)
      .update(createHash('sha256').update(JSON.stringify(boundTo)).digest())
      .update(position)
      .digest()
      .subarray(0, tagBytes)
  return {
    seal(position, boundTo) {
      const bytes = Buffer.from(position)
      return Buffer.concat([tagOf(bytes, boundTo), bytes]).toString('base64url')
    },
    open(cursor, boundTo) {
      const bytes = Buffer.from(cursor, 'base64url')
      const position = bytes.subarray(tagBytes)
      const isAuthentic =
        bytes.length > tagBytes &&
        bytes.toString('base64url') === cursor &&
        timingSafeEqual(bytes.subarray(0, tagBytes), tagOf(position, boundTo))
      if (!isAuthentic) {
        throw badRequest(
          'The cursor was altered or belongs to another query.',
          [{ pointer: 'cursor', code: 'invalid_cursor', detail: 'Repeat the request without a cursor.' }],
          'invalid_cursor',
        )
      }
      return position.toString()
    },
  }
}
