import type { Context } from 'hono'

type Outgoing = { destroy(): void }

/**
 * Closes the connection of a request at once, without a regular end of its answer. Returns false where there is no
 * socket, as in tests that call the application itself.
 */
export function disconnect(http: Context): boolean {
  const { outgoing } = (http.env ?? {}) as { outgoing?: Outgoing }
  outgoing?.destroy()
  return outgoing !== undefined
}
