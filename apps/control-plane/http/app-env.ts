import type { Context } from 'hono'
import type { Adapter } from '#adapters/adapter'
import type { Principal } from '#fleet/access/principal'
import type { DeprecatedUse } from './deprecation.ts'
import type { Admission, Route } from './route.ts'

/** An authenticated caller, and how the body of its request may be read. */
export type Admitted = Admission & { principal: Principal }

/** Facts about a request that one step finds out and a later step needs. */
export type AppEnv = {
  Variables: {
    requestId: string
    /** The path pattern of the route, or `none`. */
    route: string
    /** The deprecated parts of the API that the request uses, and the operation. */
    deprecated?: { operation: string; uses: DeprecatedUse[]; documentation: string }
    /** True for a router's request that the device edge answers and logs. */
    isPassedOn: boolean
    /** Absent for public routes and for routers. */
    principal?: Principal
    admitted: Admitted
    adaptError?: Route['adaptError']
    /** The protocol of the route, if it is not ours. */
    adapter?: Adapter
    /** The body as sent: JSON or another format, decoded and not yet validated. Undefined without a body. */
    rawBody?: unknown
    /** A validated body that is not JSON. */
    formBody?: unknown
    /** The machine-readable code of the error that was returned. */
    code?: string
    /** Headers of every response to this caller. */
    extra: Record<string, string>
  }
}

export type AppContext = Context<AppEnv>
