import type { Reader } from '#questdb/readers'
import type { RouteInput } from './route.ts'

type Input = Pick<RouteInput<unknown, unknown, unknown>, 'ctx' | 'services' | 'http'>

/** Reads for one request: they count against the caller's share and stop when the client closes the connection. */
export const requestReader = ({ ctx, services, http }: Input): Reader =>
  services.readers.of(ctx.principal.rateLimit.key, http.req.raw.signal)

/** Reads on the caller's share that go on when the client is gone: short ones, and those whose result others use too. */
export const sharedReader = ({ ctx, services }: Omit<Input, 'http'>): Reader =>
  services.readers.of(ctx.principal.rateLimit.key)
