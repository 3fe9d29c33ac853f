import type { Context } from 'hono'
import { ServiceError } from '#core/errors'
import { logFailure } from '#http/request-log'
import type { Services } from '../services.ts'
import { disconnect } from './outgoing.ts'

export type GuardedSource = {
  /** Throws when the caller may no longer read the rest. */
  check(): Promise<void>
  /** Returns the next chunk of text, or null at the end. */
  next(): Promise<string | null>
}

// A revoked key must stop working within 5 s, also in the middle of an answer.
const checkEveryMs = 2_000

/**
 * A response body that is read chunk by chunk, as fast as the client takes it. `check` runs before every chunk but the
 * first, and every 2 s while the client takes one. When it throws, or a chunk cannot be read, the connection is closed
 * before the end of the body, so that the client does not take the part it has for the whole.
 */
export function guardedStream(http: Context, services: Services, source: GuardedSource): ReadableStream<Uint8Array> {
  // The answer to HEAD has no body that somebody reads to its end or cancels.
  if (http.req.raw.method === 'HEAD') return new ReadableStream({ start: (controller) => controller.close() })
  const encoder = new TextEncoder()
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  let isFirst = true

  const end = () => {
    isOver = true
    clearTimeout(timer)
  }
  const breakOff = (controller: ReadableStreamDefaultController, error: unknown) => {
    if (isOver) return
    end()
    if (error instanceof ServiceError) services.logger.info({ ...idOf(http), code: error.code }, 'response_broken_off')
    else logFailure(services.logger, idOf(http).requestId, error)
    // An error of the stream alone can be answered with a last chunk, which looks like a regular end.
    if (!disconnect(http)) controller.error(error)
  }
  const watch = (controller: ReadableStreamDefaultController) => {
    timer = setTimeout(async () => {
      try {
        await source.check()
        if (!isOver) watch(controller)
      } catch (error) {
        breakOff(controller, error)
      }
    }, checkEveryMs).unref()
  }

  http.req.raw.signal.addEventListener('abort', end, { once: true })
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      async pull(controller) {
        try {
          if (!isFirst) await source.check()
          isFirst = false
          const text = await source.next()
          if (isOver) return
          if (text !== null) return controller.enqueue(encoder.encode(text))
          end()
          controller.close()
        } catch (error) {
          breakOff(controller, error)
        }
      },
      cancel: end,
    },
    // Nothing is read ahead of the client.
    { highWaterMark: 0 },
  )
}

const idOf = (http: Context): { requestId: string } => ({ requestId: String(http.get('requestId')) })
