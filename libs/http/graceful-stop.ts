import type { HttpServer } from '#http/listeners'

type Stoppable = Pick<HttpServer, 'close' | 'closeIdleConnections' | 'closeAllConnections'>

export type Stopping = { readonly stopping: boolean }

const inFlightLimitMs = 10_000
const closeLimitMs = 10_000

/**
 * Stops the process well: on SIGTERM, SIGINT or the end of the parent's IPC channel it becomes unready, lets requests in
 * flight finish for at most 10 s, runs `close`, and exits 0. Returns a value whose `stopping` readiness checks read.
 * `begin` is called first: it lets requests go that only wait for something to happen.
 */
export function stopGracefully(server: Stoppable, close: () => Promise<void>, begin: () => void = () => {}): Stopping {
  const state = { stopping: false }
  const stop = async () => {
    if (state.stopping) return
    state.stopping = true
    begin()
    const drained = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    // Connections kept alive by clients would hold the server open; each is closed as soon as it falls idle.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const limit = setTimeout(() => server.closeAllConnections(), inFlightLimitMs)
    await drained
    clearInterval(idle)
    clearTimeout(limit)
    // What cannot be closed in time, such as a pool whose database is gone, must not keep the process.
    setTimeout(() => process.exit(1), closeLimitMs).unref()
    await close().catch(() => {})
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (process.connected) process.once('disconnect', stop)
  // It had a parent, who went while this process was still starting.
  else if (process.send) void stop()
  return state
}
