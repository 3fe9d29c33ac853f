import type { Context } from 'hono'

type Outgoing = { destroy(): void }

/**
 * Closes the connection of a request immediately, without a regular end of the response. Returns false if there is no
 * socket, as in tests that call the application directly.
 */
export function disconnect(http: Context): boolean {
  const { outgoing } = (http.env ?? {}) as { outgoing?: Outgoing }
  outgoing?.destroy()
  return outgoing !== undefined
}
