import { isSliceOver, nextSlice } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import type { GpsQuery } from '#fleet-map/gps/gps-request'
import type { Chunks } from '#http/chunked-body'

/** Who listens to a stream of fleet GPS, and to what. */
export type Listener = {
  ctx: FleetContext
  query: GpsQuery
  /** Authenticates the listener again. Throws 401 if its credentials are no longer valid. */
  stillAllowed(): Promise<FleetContext['principal']>
  /** Closes the connection immediately. Returns false if there is no connection. */
  disconnect(): boolean
}

/** An open stream. At most one event waits for the client; call `send` only while `takesEvents` returns true. */
export type EventStream = {
  listener: Listener
  body: ReadableStream<Uint8Array>
  /** The client's state: the `asOf` of the last event, or of an earlier stream. */
  since: string | undefined
  takesEvents(): boolean
  /** The event that the client has not read yet. */
  waiting(): Chunks | undefined
  /** When the last event was sent, in epoch milliseconds; 0 before the first. */
  sentAtMs(): number
  /** When the last event was sent, or else the stream opened. */
  idleSinceMs(): number
  send(event: Chunks): void
  /** Sends a last event and ends the stream. */
  end(event: Chunks): void
  /** Ends the stream and discards the unread event. */
  breakOff(): void
}

/** Opens a stream. `onReady` is called whenever the client is ready for an event, `onClose` once at the end. */
export function createEventStream(
  listener: Listener,
  events: { onReady(stream: EventStream): void; onClose(stream: EventStream): void },
): EventStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isReady = false
  let isClosed = false
  let waiting: Chunks = []
  let next = 0
  let sentAtMs = 0
  const openedAtMs = listener.ctx.clock()

  const close = (): void => {
    if (isClosed) return
    isClosed = true
    isReady = false
    waiting = []
    events.onClose(stream)
  }
  /** Gives the client the next chunk of its event; false when it has taken all of them. */
  const enqueueNext = (): boolean => {
    const chunk = waiting[next]
    if (chunk) controller?.enqueue(chunk)
    next++
    return chunk !== undefined
  }
  const enqueue = (event: Chunks): void => {
    isReady = false
    waiting = event
    next = 0
    sentAtMs = listener.ctx.clock()
    enqueueNext()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started
      },
      async pull() {
        if (next < waiting.length && isSliceOver()) await nextSlice()
        if (isClosed || enqueueNext()) return
        waiting = []
        isReady = true
        events.onReady(stream)
      },
      cancel: close,
    },
    // The client is ready for an event when it has read the previous event.
    { highWaterMark: 0 },
  )
  const stream: EventStream = {
    listener,
    body,
    since: listener.query.since,
    takesEvents: () => isReady && !isClosed,
    waiting: () => (waiting.length > 0 ? waiting : undefined),
    sentAtMs: () => sentAtMs,
    idleSinceMs: () => sentAtMs || openedAtMs,
    send: enqueue,
    end(event) {
      if (isClosed) return
      while (enqueueNext());
      for (const chunk of event) controller?.enqueue(chunk)
      controller?.close()
      close()
    },
    breakOff() {
      if (isClosed) return
      close()
      if (!listener.disconnect()) controller?.error(new Error('The stream was closed.'))
    },
  }
  return stream
}
