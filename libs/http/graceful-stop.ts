import type { HttpServer } from '#http/listeners'

type Stoppable = Pick<HttpServer, 'close' | 'closeIdleConnections' | 'closeAllConnections'>

export type Stopping = { readonly stopping: boolean }

const inFlightLimitMs = 10_000
const closeLimitMs = 10_000

const signals = ['SIGTERM', 'SIGINT'] as const
const exitAtOnce = () => process.exit(0)

/**
 * Makes the process exit on SIGTERM and SIGINT while it starts, until `stopGracefully` is called. The first process of a
 * container ignores signals without a listener, and a start can wait for its database.
 */
export function exitOnSignals(): void {
  for (const signal of signals) process.once(signal, exitAtOnce)
}

/**
 * Installs a graceful stop: on SIGTERM, SIGINT or the end of the parent's IPC channel, the process becomes unready, waits
 * at most 10 s for requests in progress, runs `close` and exits 0. Returns a value whose `stopping` readiness checks read.
 * `begin` is called first, to end requests that wait for an event.
 */
export function stopGracefully(server: Stoppable, close: () => Promise<void>, begin: () => void = () => {}): Stopping {
  const state = { stopping: false }
  const stop = async () => {
    if (state.stopping) return
    state.stopping = true
    begin()
    const drained = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    // Keep-alive connections would keep the server open, so each is closed when it becomes idle.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const limit = setTimeout(() => server.closeAllConnections(), inFlightLimitMs)
    await drained
    clearInterval(idle)
    clearTimeout(limit)
    // A resource that does not close in time, such as a pool without its database, must not keep the process running.
    setTimeout(() => process.exit(1), closeLimitMs).unref()
    await close().catch(() => {})
    process.exit(0)
  }
  for (const signal of signals) process.off(signal, exitAtOnce).once(signal, stop)
  if (process.connected) process.once('disconnect', stop)
  // The parent has ended while this process was starting.
  else if (process.send) void stop()
  return state
}
