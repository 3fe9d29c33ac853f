import type { Context } from 'hono'
import { z } from 'zod'
import { badRequest, type FieldError, notFound } from '#core/errors'
import { type BodyTerms, decodeJson, readBody, requireMediaType } from '#http/body'
import type { Route } from './route.ts'

const defaultBodyLimitBytes = 1024 * 1024
const jsonFormat = { mediaTypes: ['application/json'], decode: decodeJson }

/** Query, body and path parameters of a request as the route's schemas describe them. */
export type ParsedRequest = { query: unknown; body: unknown; params: unknown; rawBody: unknown }

/** Reads and checks a request in the contract's order: 413 and 415, then 400 for query and body, then 404 for the path. */
export async function parseRequest(route: Route, http: Context, terms: BodyTerms): Promise<ParsedRequest> {
  const rawBody = route.body ? await readRouteBody(route, http.req.raw, terms) : undefined
  const query = hasStrictQuery(route) ? check(route.query ?? noQuery, rawQuery(http), (path) => path.join('.')) : {}
  const body = route.body ? check(route.body, rawBody ?? {}, jsonPointer) : undefined
  return { query, body, params: parseParams(route, http), rawBody }
}

const noQuery = z.strictObject({})

/** Whether unknown parameters are refused: for probes and pages, which get some appended in passing, they are not. */
export const hasStrictQuery = ({ query, access }: Route): boolean =>
  query !== undefined || (access !== 'public' && access !== 'device')

async function readRouteBody(route: Route, request: Request, terms: BodyTerms): Promise<unknown> {
  const format = route.bodyFormat ?? jsonFormat
  const bytes = await readBody(request, route.bodyLimitBytes ?? defaultBodyLimitBytes, terms)
  if (bytes === undefined) return undefined
  requireMediaType(request, format.mediaTypes)
  return format.decode(bytes)
}

/** Each parameter as its text, or as a list when it stands several times. */
const rawQuery = (http: Context): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(http.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] ?? '') : values,
    ]),
  )

function check(schema: z.ZodType, value: unknown, pointerOf: (path: PropertyKey[]) => string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const errors = issues.slice(0, maxFieldErrors).flatMap((issue) => fieldErrors(issue, pointerOf))
  const first = errors[0]
  const detail = first ? `${first.pointer || 'The body'}: ${first.detail}` : 'The request is invalid.'
  throw badRequest(detail, errors, issues[0] && problemCodeOf(issues[0]))
}

const maxFieldErrors = 50

/** The code of the whole problem, for a custom check that has one beside `invalid_request` (`params.problemCode`). */
const problemCodeOf = (issue: z.core.$ZodIssue): string | undefined =>
  issue.code === 'custom' && typeof issue.params?.problemCode === 'string' ? issue.params.problemCode : undefined

function fieldErrors(issue: z.core.$ZodIssue, pointerOf: (path: PropertyKey[]) => string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxFieldErrors).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      code: 'unknown_field',
      detail: 'There is no such field or parameter.',
    }))
  }
  const customCode = issue.code === 'custom' ? (issue.params?.code ?? problemCodeOf(issue)) : undefined
  const code = typeof customCode === 'string' ? customCode : issue.code
  return [{ pointer: pointerOf(issue.path), code, detail: issue.message }]
}

/** RFC 6901. */
const jsonPointer = (path: PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

function parseParams(route: Route, http: Context): unknown {
  if (!route.params) return {}
  const sent: Record<string, string> = http.req.param()
  const parsed = route.params.safeParse(sent)
  if (parsed.success) return parsed.data
  const name = String(parsed.error.issues[0]?.path[0])
  throw notFound(nounOf(route, name), sent[name])
}

const nouns: Record<string, string> = {
  orgs: 'organization',
  configs: 'profile',
  'job-batches': 'job batch',
  'api-keys': 'API key',
  'enrollment-keys': 'enrollment key',
}

/** What a path parameter is the id of, in the words of the verbs: `/orgs/:orgId/groups/:id` asks for a group. */
const nounOf = (route: Route, parameter: string): string => {
  const parts = route.path.split('/')
  const collection = parts[parts.indexOf(`:${parameter}`) - 1] ?? 'object'
  return nouns[collection] ?? collection.replace(/s$/, '')
}
