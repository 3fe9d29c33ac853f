import type { Context } from 'hono'
import type { z } from 'zod'
import type { FleetContext } from '#fleet/context'
import type { Scope } from '#fleet/scopes'
import type { Services } from './services.ts'

/** One documented answer of a route. `schema` is absent for answers without a body. */
export type AnswerDoc = { description: string; schema?: z.ZodType; contentType?: string; headers?: string[] }

export type Reply = { status: number; body?: unknown; headers?: Record<string, string> }

/** What a handler gets: everything parsed by the route's own schemas, nothing raw but `http` for streams and proxies. */
export type RouteInput<Params, Query, Body> = {
  ctx: FleetContext
  services: Services
  params: Params
  query: Query
  body: Body
  http: Context
}

type Schema<T> = z.ZodType<T> | undefined

/**
 * One entry of the visible list of routes. The same object serves the request and writes the OpenAPI operation, so that
 * served and documented are one set. `path` is written with `:name` parameters.
 */
export type Route<Params = unknown, Query = unknown, Body = unknown> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: string
  summary: string
  tag: string
  /** 'public' needs no credentials; 'principal' any authenticated caller; a scope is documented and checked by the verb. */
  access: 'public' | 'principal' | 'platform' | Scope
  params?: Schema<Params>
  query?: Schema<Query>
  body?: Schema<Body>
  bodyLimitBytes?: number
  /** POSTs that create or dispatch honour Idempotency-Key; 'secret' answers are never stored. */
  idempotent?: 'replay' | 'secret'
  answers: Record<number, AnswerDoc>
  example?: { body?: unknown; answer?: unknown }
  handle: (input: RouteInput<Params, Query, Body>) => Promise<Reply | Response>
}

/** Infers a handler's input from the schemas beside it. */
export const route = <Params = unknown, Query = unknown, Body = unknown>(
  definition: Route<Params, Query, Body>,
): Route => definition as unknown as Route
