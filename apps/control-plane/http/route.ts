import type { Context } from 'hono'
import type { z } from 'zod'
import type { ServiceError } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { BodyTerms } from '#http/body'
import type { Services } from '../services.ts'

/**
 * One documented answer of a route. `schema` is absent for answers without a body; the type is JSON unless said.
 * `alsoAs` has the media types a caller may ask for instead, and what they look like.
 */
export type AnswerDoc = {
  description: string
  schema?: z.ZodType
  contentType?: string | string[]
  alsoAs?: Record<string, z.ZodType>
  headers?: string[]
}

/** What a handler answers: `body` is sent as JSON. For anything else it returns a `Response` of its own. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> }

/** What a handler gets: everything parsed by the route's own schemas, nothing raw but `http` for streams and proxies. */
export type RouteInput<Params, Query, Body> = {
  ctx: FleetContext
  services: Services
  params: Params
  query: Query
  body: Body
  http: Context
  /** How the body may be read, for handlers that read it themselves. */
  admission: Admission
}

/** What was settled before the body is read. `tokenDigest`: of the router's token, on the device edge. */
export type Admission = { terms: BodyTerms; tokenDigest?: string | undefined }

/** A request body that is not JSON: its media types, and how its bytes become what the `body` schema checks. */
export type BodyFormat = { mediaTypes: readonly string[]; decode: (bytes: Uint8Array) => unknown }

type Idempotency = 'replay' | 'secret'

type Schema<T> = z.ZodType<T> | undefined

/**
 * One entry of the visible list of routes. The same object serves the request and writes the OpenAPI operation, so that
 * served and documented are one set. `path` is written with `:name` parameters.
 */
export type Route<Params = unknown, Query = unknown, Body = unknown> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: string
  summary: string
  /** Markdown for readers of the documentation, where the summary does not say it all. */
  description?: string
  tag: string
  /**
   * 'public' needs no credentials, 'device' a device token (checked by the device edge), 'principal' any authenticated
   * caller; a scope or 'platform' is documented here and checked by the verb, which knows the organization.
   */
  access: 'public' | 'device' | 'principal' | 'platform' | Scope
  /** A parameter that does not parse is answered 404, like an id nobody has. */
  params?: Schema<Params>
  /** Make it strict: an unknown or misspelt filter is refused, not ignored. */
  query?: Schema<Query>
  body?: Schema<Body>
  bodyFormat?: BodyFormat
  bodyLimitBytes?: number
  /** A body and query this app only passes on: documented, not read. */
  passedBody?: { mediaTypes: readonly string[]; schema?: z.ZodType }
  passedQuery?: z.ZodType
  /** POSTs that create or dispatch honour Idempotency-Key; 'secret' answers are never stored. */
  idempotent?: Idempotency | ((query: Query) => Idempotency)
  answers: Record<number, AnswerDoc>
  example?: { body?: unknown; answer?: unknown }
  /** Adds members a standard asks for to this route's errors. */
  adaptError?: (error: ServiceError) => ServiceError
  handle: (input: RouteInput<Params, Query, Body>) => Promise<Reply | Response>
}

/** Infers a handler's input from the schemas beside it. */
export const route = <Params = unknown, Query = unknown, Body = unknown>(
  definition: Route<Params, Query, Body>,
): Route => definition as unknown as Route
