import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler, ValidationTargets } from 'hono'
import { z } from 'zod'
import { notFound, type ServiceError } from '#core/errors'
import { isSliceOver, nextSlice } from '#core/slices'
import { type BodyTerms, decodeJson, readBody, requireMediaType } from '#http/body'
import { inSentences, invalidRequest, jsonPointer, parameterName } from '#http/invalid-request'
import type { AppContext, AppEnv } from './app-env.ts'
import type { BodyFormat, Route } from './route.ts'

const defaultBodyLimitBytes = 1024 * 1024
const jsonFormat: BodyFormat = { mediaTypes: ['application/json'], decode: decodeJson }

/** A request's query, body and path parameters, parsed by the route's schemas. `rawBody` is the body before that. */
export type ParsedRequest = { query: unknown; body: unknown; params: unknown; rawBody: unknown }

type Validator = MiddlewareHandler<AppEnv>

/**
 * The middleware that validates a route's requests, in the contract's order: 413 and 415, then 400 for query and body,
 * then 404 for path parameters.
 */
export function requestValidators(route: Route): Validator[] {
  const { body, params } = route
  return [
    ...(body ? [bodyReader(route)] : []),
    ...(hasStrictQuery(route) ? [validator('query', route.query ?? noQuery, invalidQuery)] : []),
    ...(body ? [route.bodyFormat ? formatValidator(body) : validator('json', body, invalidBody)] : []),
    ...(params ? [validator('param', params, unknownObject(route))] : []),
  ]
}

/** The values that the validators of the route have produced. */
export function validatedRequest(route: Route, c: AppContext): ParsedRequest {
  const valid = (target: keyof ValidationTargets): unknown => c.req.valid(target as never)
  return {
    query: valid('query') ?? {},
    body: route.bodyFormat ? c.get('formBody') : valid('json'),
    params: valid('param') ?? {},
    rawBody: c.get('rawBody'),
  }
}

const noQuery = z.strictObject({})

/** Whether unknown parameters are refused. Probes and pages accept them, because other programs append some. */
export const hasStrictQuery = ({ query, access }: Route): boolean =>
  query !== undefined || (access !== 'public' && access !== 'device')

type ErrorOf = (error: z.core.$ZodError, c: Context) => ServiceError

/** The validator of `@hono/zod-validator`. All schemas are synchronous, which saves a promise for each request. */
const validator = (target: 'query' | 'json' | 'param', schema: z.ZodType, errorOf: ErrorOf): Validator =>
  zValidator(
    target,
    schema,
    (result, c) => {
      if (!result.success) throw errorOf(result.error, c)
    },
    { validationFunction: (checked, value) => checked.safeParse(value, inSentences) },
  )

/** Validates a body that is not JSON, which `@hono/zod-validator` cannot be given. */
const formatValidator =
  (schema: z.ZodType): Validator =>
  async (c, next) => {
    const parsed = schema.safeParse(c.get('rawBody') ?? {}, inSentences)
    if (!parsed.success) throw invalidBody(parsed.error)
    c.set('formBody', parsed.data)
    await next()
  }

/**
 * Reads the body within the route's limit and the caller's share of memory. Hono's validator takes the body from
 * `c.req.json()`, which would read it without limits; here it returns what has been read.
 */
const bodyReader =
  (route: Route): Validator =>
  async (c, next) => {
    const rawBody = await readRouteBody(route, c.req.raw, c.get('admitted').terms)
    c.set('rawBody', rawBody)
    c.req.json = async () => (rawBody === undefined ? {} : rawBody) as never
    await next()
  }

async function readRouteBody(route: Route, request: Request, terms: BodyTerms): Promise<unknown> {
  const format = route.bodyFormat ?? jsonFormat
  const bytes = await readBody(request, route.bodyLimitBytes ?? defaultBodyLimitBytes, terms)
  if (bytes === undefined) return undefined
  requireMediaType(request, format.mediaTypes)
  // A body of 1 MiB takes milliseconds, and many can arrive in one turn of the event loop.
  if (isSliceOver()) await nextSlice()
  return format.decode(bytes)
}

const invalidQuery: ErrorOf = (error) => invalidRequest(error, parameterName)
const invalidBody = (error: z.core.$ZodError): ServiceError => invalidRequest(error, jsonPointer)

const unknownObject =
  (route: Route): ErrorOf =>
  ({ issues }, c) => {
    const name = String(issues[0]?.path[0])
    return notFound(nounOf(route, name), c.req.param(name))
  }

const nouns: Record<string, string> = {
  orgs: 'organization',
  configs: 'profile',
  'job-batches': 'job batch',
  'api-keys': 'API key',
  'enrollment-keys': 'enrollment key',
  'alert-rules': 'alert rule',
  'chat-channels': 'chat channel',
  firmware: 'firmware image',
  views: 'saved view',
  people: 'person',
  tokens: 'device token',
  deliveries: 'delivery',
}

/** The kind of object that a path parameter identifies: a group for `:id` in `/orgs/:orgId/groups/:id`. */
const nounOf = (route: Route, parameter: string): string => {
  const before = route.path.split(`/:${parameter}`)[0]?.split('/') ?? []
  const collection = before.findLast((part) => part !== '' && !part.startsWith(':')) ?? 'object'
  return nouns[collection] ?? collection.replace(/s$/, '')
}
