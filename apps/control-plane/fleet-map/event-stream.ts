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
  /** Bytes of the event the client has not taken yet. */
  waitingBytes(): number
  /** When the last event was sent, in epoch milliseconds; 0 before the first. */
  sentAtMs(): number
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
  let waitingBytes = 0
  let sentAtMs = 0

  const close = (): void => {
    if (isClosed) return
    isClosed = true
    isReady = false
    waitingBytes = 0
    events.onClose(stream)
  }
  const enqueue = (event: Uint8Array): void => {
    isReady = false
    waitingBytes = event.length
    sentAtMs = listener.ctx.clock()
    controller?.enqueue(event)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started
      },
      pull() {
        waitingBytes = 0
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
    waitingBytes: () => waitingBytes,
    sentAtMs: () => sentAtMs,
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
