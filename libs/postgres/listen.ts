import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** What one part of a process wants to hear. */
export type ChannelListener = {
  channel: string
  onNotice(payload: string): void
  /**
   * Called after every connection, after its loss and before every further attempt: notices may have been missed, so
   * caches must forget what they know.
   */
  onGap(): void
}

export type Listening = {
  /** Resolves when the first connection listens, or when listening was stopped before that. Never rejects. */
  connected: Promise<void>
  stop(): Promise<void>
}

// A lost connection is noticed within the sum of these two.
const checkEveryMs = 3_000
const patienceMs = 5_000

const shortestDelayMs = 200
const longestDelayMs = 3_000

/**
 * Passes the payload of every NOTIFY to the listener of its channel. All listeners share one connection, and there is
 * never more than one: a connection that fails or does not answer is closed before the next attempt. Attempts go on,
 * with growing delays, until `stop`.
 */
export function listen(url: string, listeners: readonly ChannelListener[]): Listening {
  const stopping = new AbortController()
  const connected = Promise.withResolvers<void>()
  const tellGap = () => {
    for (const { onGap } of listeners) onGap()
  }

  const run = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      const onListening = () => {
        connected.resolve()
        tellGap()
      }
      const onProven = () => {
        failures = 0
      }
      await holdConnection(url, listeners, { onListening, onProven, signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) break
      tellGap()
      await delay(delayMs(failures), undefined, { signal: stopping.signal }).catch(() => {})
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

/** Half of the delay is random, so that the listeners of a fleet of processes do not come back at once. */
const delayMs = (failures: number): number =>
  Math.min(shortestDelayMs * 2 ** Math.min(failures, 10), longestDelayMs) * (0.5 + Math.random() / 2)

type Hold = { onListening(): void; onProven(): void; signal: AbortSignal }

/** Connects, listens, and settles when the connection is closed, for whatever reason. */
async function holdConnection(
  url: string,
  listeners: readonly ChannelListener[],
  { onListening, onProven, signal }: Hold,
): Promise<void> {
  // Of our own: a server that does not answer does not answer a polite end either.
  const socket = new Socket()
  const client = new pg.Client({
    connectionString: url,
    application_name: 'listener',
    keepAlive: true,
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
    stream: () => socket,
  })
  const idleOver = new AbortController()
  let idle = false
  client.on('error', () => {})
  client.once('end', () => idleOver.abort())
  client.on('notification', ({ channel, payload }) => {
    for (const listener of listeners) if (listener.channel === channel) listener.onNotice(payload ?? '')
  })
  // Whoever waits for an answer, of connect() too, gets an error when the socket is destroyed.
  const onStop = () => (idle ? idleOver.abort() : void socket.destroy())
  signal.addEventListener('abort', onStop, { once: true })
  try {
    await client.connect()
    for (const { channel } of listeners) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    onListening()
    for (;;) {
      idle = true
      await delay(checkEveryMs, undefined, { signal: idleOver.signal }).catch(() => {})
      idle = false
      if (idleOver.signal.aborted || signal.aborted) return
      await client.query('SELECT 1')
      onProven()
    }
  } finally {
    signal.removeEventListener('abort', onStop)
    await closeClient(client, socket)
  }
}

const closeWithinMs = 1_000

/** Ends the connection politely when the server answers, and in any case. */
async function closeClient(client: pg.Client, socket: Socket): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), closeWithinMs)
  await client.end().catch(() => {})
  clearTimeout(timer)
  socket.destroy()
}
