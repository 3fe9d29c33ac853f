import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { badRequest } from '#core/errors'

export type Cursors = {
  /** Makes an opaque cursor of a keyset position, valid only for the same `boundTo` (path, filters, caller). */
  seal(position: string, boundTo: unknown): string
  /** The position inside a cursor. Throws 400 `invalid_cursor` when it was altered or belongs to another query. */
  open(cursor: string, boundTo: unknown): string
}

const tagBytes = 16

/** Cursors signed with HMAC-SHA256, so that a position cannot be made up or carried over to another query. */
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
      const genuine =
        bytes.length > tagBytes &&
        bytes.toString('base64url') === cursor &&
        timingSafeEqual(bytes.subarray(0, tagBytes), tagOf(position, boundTo))
      if (!genuine) {
        throw badRequest(
          'The cursor was altered or belongs to another query.',
          [{ pointer: 'cursor', code: 'invalid_cursor', detail: 'Start again without a cursor.' }],
          'invalid_cursor',
        )
      }
      return position.toString()
    },
  }
}
