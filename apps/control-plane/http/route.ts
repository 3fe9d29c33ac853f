import type { Context } from 'hono'
import type { z } from 'zod'
import type { Adapter } from '#adapters/adapter'
import type { ServiceError } from '#core/errors'
import type { FairQueue } from '#core/fair-queue'
import type { Principal } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { BodyTerms } from '#http/body'
import type { Services } from '../services.ts'
import type { Tag } from './openapi-tags.ts'

/**
 * One documented response of a route. `schema` is absent for responses without a body. The content type is JSON by
 * default. `alsoAs` has the schemas of other media types that a caller can request.
 */
export type AnswerDoc = {
  description: string
  schema?: z.ZodType
  contentType?: string | string[]
  alsoAs?: Record<string, z.ZodType>
  headers?: string[]
}

/**
 * A handler's response, with `body` sent as JSON, whose media type `headers` can name. For other content, a handler returns a
 * `Response`.
 */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> }

export const ok = (body: unknown): Reply => ({ status: 200, body })
export const created = (body: unknown, headers: Record<string, string> = {}): Reply => ({ status: 201, body, headers })

/** The response of a verb that returns nothing. */
export const noContent = async (verb: Promise<void>): Promise<Reply> => {
  await verb
  return { status: 204 }
}

/** A handler's input, parsed by the route's schemas. `http` is the raw request, for streams and proxies. */
export type RouteInput<Params, Query, Body> = {
  ctx: FleetContext
  services: Services
  params: Params
  query: Query
  body: Body
  http: Context
  /** Authenticates the caller again, for responses that take long. Throws if its credentials are no longer valid. */
  reauthenticate: () => Promise<Principal>
  /** The limits of the body, for handlers that read it themselves. */
  admission: Admission
}

/**
 * The result of the checks before the body is read. On the device edge: the digest of the router's token, and the credentials
 * as an `Authorization` header.
 */
export type Admission = {
  terms: BodyTerms
  tokenDigest?: string | undefined
  authorization?: string | undefined
}

/** A format of request bodies: its media types, and a function that decodes bytes for the `body` schema. */
export type BodyFormat = { mediaTypes: readonly string[]; decode: (bytes: Uint8Array) => unknown }

type Idempotency = 'replay' | 'secret'

/** How a part of the API leaves it. Dates are days in UTC, such as `2027-01-31`; docs/versioning.md says how long it stays. */
export type Deprecated = {
  since: string
  sunset: string
  /** Markdown: what replaces it. */
  use?: string
}

type Schema<T> = z.ZodType<T> | undefined

/**
 * A route of the API. The same object serves requests and generates the OpenAPI operation, so that code and
 * documentation agree. `path` has `:name` parameters.
 */
export type Route<Params = unknown, Query = unknown, Body = unknown> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: string
  /** The verb and the noun for generated clients, if method and path do not give good ones. */
  operationId?: string
  summary: string
  /** Markdown for the documentation, if the summary is not sufficient. */
  description?: string
  tag: Tag
  /** The response says that the operation is deprecated. */
  deprecated?: Deprecated
  /** By the name of the query parameter. Only responses to requests that have it say so. */
  deprecatedQuery?: Record<string, Deprecated>
  /**
   * 'public' needs no credentials, 'device' a device token (checked by the device edge), 'principal' any authenticated
   * caller; a scope or 'platform' is documented here and checked by the verb, which knows the organization.
   */
  access: 'public' | 'device' | 'principal' | 'platform' | Scope
  /** An invalid parameter returns 404, like the id of an object that does not exist. */
  params?: Schema<Params>
  /** Use a strict object, so that an unknown or misspelt parameter returns 400. */
  query?: Schema<Query>
  body?: Schema<Body>
  bodyFormat?: BodyFormat
  bodyLimitBytes?: number
  /** A body and query that this app forwards: documented, but not validated here. */
  passedBody?: { mediaTypes: readonly string[]; schema?: z.ZodType }
  passedQuery?: z.ZodType
  /**
   * For a POST that creates something: supports Idempotency-Key. Responses with 'secret' are not stored. Undefined: the request
   * creates nothing.
   */
  idempotent?: Idempotency | ((query: Query) => Idempotency | undefined)
  /** Requests wait in this queue, as their rate limit's owner, before they take a connection to Postgres. */
  line?: (services: Services) => FairQueue
  answers: Record<number, AnswerDoc>
  example?: { body?: unknown; answer?: unknown }
  /** Adds members that a standard requires to this route's errors. */
  adaptError?: (error: ServiceError) => ServiceError
  /** The protocol of another maker: where the device token is, and the form of errors, which `errorForm` documents. */
  adapter?: Adapter
  errorForm?: { contentType: string | string[]; schema: z.ZodType }
  handle: (input: RouteInput<Params, Query, Body>) => Promise<Reply | Response>
}

/** Infers the types of a handler's input from the route's schemas. */
export const route = <Params = unknown, Query = unknown, Body = unknown>(
  definition: Route<Params, Query, Body>,
): Route => definition as unknown as Route
