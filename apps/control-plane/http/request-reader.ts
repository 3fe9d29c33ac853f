import type { Reader } from '#questdb/copies/readers'
import type { RouteInput } from './route.ts'

type Input = Pick<RouteInput<unknown, unknown, unknown>, 'ctx' | 'services' | 'http'>

/** A reader for one request. Reads use the caller's share and stop when the client closes the connection. */
export const requestReader = ({ ctx, services, http }: Input): Reader =>
  services.readers.of(ctx.principal.rateLimit.key, http.req.raw.signal)

/** A reader whose reads continue when the client disconnects: for short reads and for shared results. */
export const sharedReader = ({ ctx, services }: Omit<Input, 'http'>): Reader =>
  services.readers.of(ctx.principal.rateLimit.key)
