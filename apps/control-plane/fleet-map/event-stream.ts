import type { FleetContext } from '#fleet/context'
import type { GpsQuery } from './query.ts'

/** Who listens to a stream of fleet GPS, and to what. */
export type Listener = {
  ctx: FleetContext
  query: GpsQuery
  /** Authenticates the listener once more. Throws 401 when its credentials do not hold any longer. */
  stillAllowed(): Promise<FleetContext['principal']>
  /** Closes the connection at once, whatever is still on its way; false where there is none. */
  disconnect(): boolean
}

/** One open stream. At most one event waits for the client; `send` may only be called while it takes one. */
export type EventStream = {
  listener: Listener
  body: ReadableStream<Uint8Array>
  /** What the client has seen: the `asOf` of the last event, or of an earlier stream. */
  since: string | undefined
  takesEvents(): boolean
  /** The event the client has not taken yet. */
  waiting(): Uint8Array | undefined
  /** When the last event was sent, in epoch milliseconds; 0 before the first. */
  sentAtMs(): number
  /** When the last event was sent, or else the stream opened. */
  idleSinceMs(): number
  send(event: Uint8Array): void
  /** Sends a last event and ends the stream. */
  end(event: Uint8Array): void
  /** Ends the stream without what the client has not taken yet. */
  breakOff(): void
}

/** Opens a stream. `onReady` is called whenever the client takes events again, `onClose` once when the stream is over. */
export function createEventStream(
  listener: Listener,
  events: { onReady(stream: EventStream): void; onClose(stream: EventStream): void },
): EventStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isReady = false
  let isClosed = false
  let waiting: Uint8Array | undefined
  let sentAtMs = 0
  const openedAtMs = listener.ctx.clock()

  const close = (): void => {
    if (isClosed) return
    isClosed = true
    isReady = false
    waiting = undefined
    events.onClose(stream)
  }
  const enqueue = (event: Uint8Array): void => {
    isReady = false
    waiting = event
    sentAtMs = listener.ctx.clock()
    controller?.enqueue(event)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started
      },
      pull() {
        waiting = undefined
        isReady = true
        events.onReady(stream)
      },
      cancel: close,
    },
    // The client is ready for an event when it has taken the one before.
    { highWaterMark: 0 },
  )
  const stream: EventStream = {
    listener,
    body,
    since: listener.query.since,
    takesEvents: () => isReady && !isClosed,
    waiting: () => waiting,
    sentAtMs: () => sentAtMs,
    idleSinceMs: () => sentAtMs || openedAtMs,
    send: enqueue,
    end(event) {
      if (isClosed) return
      enqueue(event)
      controller?.close()
      close()
    },
    breakOff() {
      if (isClosed) return
      close()
      if (!listener.disconnect()) controller?.error(new Error('The stream was broken off.'))
    },
  }
  return stream
}
