import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler, ValidationTargets } from 'hono'
import { z } from 'zod'
import { badRequest, type FieldError, notFound, type ServiceError } from '#core/errors'
import { isSliceOver, nextSlice } from '#core/slices'
import { type BodyTerms, decodeJson, readBody, requireMediaType } from '#http/body'
import type { AppContext, AppEnv } from './app-env.ts'
import { faultSentence } from './fault-sentences.ts'
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
/** People read the faults that are found. */
const inSentences = { error: faultSentence }

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
    c.req.json = async () => (rawBody ?? {}) as never
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

/** RFC 6901. */
const jsonPointer = (path: PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const invalidQuery: ErrorOf = ({ issues }) => invalidRequest(issues, (path) => path.join('.'))
const invalidBody = ({ issues }: z.core.$ZodError): ServiceError => invalidRequest(issues, jsonPointer)

const maxFieldErrors = 50

function invalidRequest(issues: z.core.$ZodIssue[], pointerOf: (path: PropertyKey[]) => string): ServiceError {
  const errors = issues
    .flatMap(issuesOfBranch)
    .slice(0, maxFieldErrors)
    .flatMap((issue) => fieldErrors(issue, pointerOf))
  const first = errors[0]
  const detail = first ? `${first.pointer || 'The body'}: ${first.detail}` : 'The request is invalid.'
  return badRequest(detail, errors, issues[0] && problemCodeOf(issues[0]))
}

/** If only one branch of a union takes values of this type, returns what it found wrong. */
function issuesOfBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const [branch, other] = issue.errors.filter(([first]) => first?.code !== 'invalid_type' || first.path.length > 0)
  if (!branch || other) return [issue]
  return branch.flatMap((found) => issuesOfBranch({ ...found, path: [...issue.path, ...found.path] }))
}

/** The code of the whole problem, for a custom check that replaces `invalid_request` (`params.problemCode`). */
const problemCodeOf = (issue: z.core.$ZodIssue): string | undefined =>
  issue.code === 'custom' && typeof issue.params?.problemCode === 'string' ? issue.params.problemCode : undefined

function fieldErrors(issue: z.core.$ZodIssue, pointerOf: (path: PropertyKey[]) => string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxFieldErrors).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      code: 'unknown_field',
      detail: 'Unknown field or parameter.',
    }))
  }
  const customCode = issue.code === 'custom' ? (issue.params?.code ?? problemCodeOf(issue)) : undefined
  const code = typeof customCode === 'string' ? customCode : issue.code
  return [{ pointer: pointerOf(issue.path), code, detail: issue.message }]
}

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
