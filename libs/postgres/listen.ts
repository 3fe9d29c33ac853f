import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { pause } from '#core/schedule'
import { connectionOptions } from '#postgres/connection'

/** The listener of one channel. */
export type ChannelListener = {
  channel: string
  onNotice(payload: string): void
  /**
   * Called after every connection, after its loss and before every further attempt. Notices may have been missed, so caches
   * must be cleared.
   */
  onGap(): void
}

export type Listening = {
  /** Resolves when the first connection listens, or when listening was stopped before that. Never rejects. */
  connected: Promise<void>
  stop(): Promise<void>
}

// A lost connection is detected within the sum of these two.
const checkEveryMs = 3_000
const timeoutMs = 5_000

const shortestDelayMs = 200
const longestDelayMs = 3_000

/**
 * Passes the payload of every NOTIFY to the listener of its channel. All listeners share one connection. A connection that
 * fails or does not respond is closed, and a new one is opened after a delay that grows with each failure, until `stop`.
 */
export function listen(url: string, listeners: readonly ChannelListener[]): Listening {
  const stopping = new AbortController()
  const connected = Promise.withResolvers<void>()
  const reportGap = () => {
    for (const { onGap } of listeners) onGap()
  }

  const run = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      const onListening = () => {
        connected.resolve()
        reportGap()
      }
      const onAlive = () => {
        failures = 0
      }
      await keepConnection(url, listeners, { onListening, onAlive, signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) break
      reportGap()
      await pause(delayMs(failures), stopping.signal)
    }
    connected.resolve()
  }

  const running = run()
  return {
    connected: connected.promise,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Half of the delay is random, so that the processes do not reconnect at the same time. */
const delayMs = (failures: number): number =>
  Math.min(shortestDelayMs * 2 ** Math.min(failures, 10), longestDelayMs) * (0.5 + Math.random() / 2)

type ConnectionEvents = { onListening(): void; onAlive(): void; signal: AbortSignal }

/** Connects and listens. Resolves or rejects when the connection is closed for any reason. */
async function keepConnection(
  url: string,
  listeners: readonly ChannelListener[],
  { onListening, onAlive, signal }: ConnectionEvents,
): Promise<void> {
  // Our own socket, because the regular end of a connection needs a server that responds.
  const options = connectionOptions(url)
  const socket = options.stream?.() ?? new Socket()
  const client = new pg.Client({
    ...options,
    application_name: 'listener',
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    stream: () => socket,
  })
  const idleOver = new AbortController()
  let idle = false
  client.on('error', () => {})
  client.once('end', () => idleOver.abort())
  client.on('notification', ({ channel, payload }) => {
    for (const listener of listeners) if (listener.channel === channel) listener.onNotice(payload ?? '')
  })
  // Destroying the socket rejects a pending query or connect().
  const onStop = () => (idle ? idleOver.abort() : void socket.destroy())
  signal.addEventListener('abort', onStop, { once: true })
  try {
    await client.connect()
    for (const { channel } of listeners) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    onListening()
    for (;;) {
      idle = true
      await pause(checkEveryMs, idleOver.signal)
      idle = false
      if (idleOver.signal.aborted || signal.aborted) return
      await client.query('SELECT 1')
      onAlive()
    }
  } finally {
    signal.removeEventListener('abort', onStop)
    await closeClient(client, socket)
  }
}

const closeWithinMs = 1_000

/** Ends the connection regularly when the server responds within a second, and by force otherwise. */
async function closeClient(client: pg.Client, socket: Duplex): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), closeWithinMs)
  await client.end().catch(() => {})
  clearTimeout(timer)
  socket.destroy()
}
