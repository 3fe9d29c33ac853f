import type { Context } from 'hono'

type Destroyable = { destroy(): void }

/** Node's response behind the request; undefined where there is no socket, as in tests that call the app itself. */
export const outgoingOf = (http: Context): Destroyable | undefined =>
  (http.env as { outgoing?: Destroyable } | undefined)?.outgoing
