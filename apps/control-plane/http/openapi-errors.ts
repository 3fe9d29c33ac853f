import { hasStrictQuery } from './request.ts'
import type { AnswerDoc, Route } from './route.ts'

const descriptions = {
  400: 'The request is invalid; `errors` says where.',
  401: 'Missing or bad credentials.',
  402: 'The organization’s subscription is suspended or cancelled.',
  403: 'A scope is missing.',
  404: 'It does not exist, or not for you.',
  409: 'It conflicts with what is there.',
  413: 'The body is too large.',
  415: 'The body’s media type or encoding is not accepted.',
  422: 'The Idempotency-Key was used for another request.',
  429: 'Too many requests; `Retry-After` says when.',
  500: 'Our failure.',
  503: 'A part of the service is away; try again.',
} satisfies Record<number, string>

type DocumentedStatus = keyof typeof descriptions

/** The errors a route can answer by its shape alone; what its verb adds stands in the route's own `answers`. */
export function documentedErrors(route: Route): Record<number, AnswerDoc> {
  const authenticated = route.access !== 'public'
  const hasBody = route.body !== undefined || route.passedBody !== undefined
  const statuses: [boolean, DocumentedStatus][] = [
    [hasBody || hasStrictQuery(route) || route.passedQuery !== undefined, 400],
    [authenticated, 401],
    [authenticated && route.access !== 'principal', 403],
    [route.params !== undefined, 404],
    [route.idempotent !== undefined, 409],
    [hasBody, 413],
    [hasBody, 415],
    [route.idempotent !== undefined, 422],
    [authenticated || route.path === '/auth/token', 429],
    [true, 500],
    [true, 503],
  ]
  return Object.fromEntries(
    statuses.filter(([applies]) => applies).map(([, status]) => [status, { description: descriptions[status] }]),
  )
}

/** The usual answers of verbs that write inside an organization, for a route's `answers`. */
export const writeErrors = { 402: { description: descriptions[402] } }
