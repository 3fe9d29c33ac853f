import type { Context } from 'hono'
import { ServiceError } from '#core/errors'
import { logFailure } from '#http/request-log'
import type { Services } from '../services.ts'
import { disconnect } from './outgoing.ts'

export type GuardedSource = {
  /** Throws if the caller is no longer allowed to read. */
  check(): Promise<void>
  /** Returns the next chunk, or null at the end. */
  next(): Promise<string | Uint8Array | null>
}

// A revoked key must stop working within 5 s, also during a response.
const checkEveryMs = 2_000

/**
 * A response body that is read in chunks, at the speed of the client. `check` runs before every chunk except the first,
 * and every 2 s while the client reads a chunk. If it throws, or reading a chunk fails, the connection closes before
 * the end of the body, so that the client can detect the incomplete response.
 */
export function guardedStream(http: Context, services: Services, source: GuardedSource): ReadableStream<Uint8Array> {
  // The response to HEAD has no body that a client reads or cancels.
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
    // Close the connection too: after a stream error, the server may send a last chunk, which is a regular end.
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
          const chunk = await source.next()
          if (isOver) return
          if (chunk !== null) return controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk)
          end()
          controller.close()
        } catch (error) {
          breakOff(controller, error)
        }
      },
      cancel: end,
    },
    // Do not read ahead of the client.
    { highWaterMark: 0 },
  )
}

const idOf = (http: Context): { requestId: string } => ({ requestId: String(http.get('requestId')) })
