import type { LimitName } from '#fleet/organizations/limit-table'
import { hasStrictQuery } from './request.ts'
import type { AnswerDoc, Route } from './route.ts'

const descriptions = {
  400: 'The request is invalid. `errors` lists the invalid fields.',
  401: 'The credentials are missing or invalid.',
  402: 'The organization’s subscription is suspended or cancelled.',
  403: 'A scope is missing.',
  404: 'The object does not exist, or you cannot read it.',
  409: 'The request conflicts with the current state.',
  413: 'The body is too large.',
  415: 'The body’s media type or encoding is not accepted.',
  422: 'The Idempotency-Key was used for another request.',
  429: 'Too many requests. Wait for the time in `Retry-After`.',
  500: 'Internal server error.',
  503: 'The service is temporarily unavailable. Retry later.',
} satisfies Record<number, string>

type DocumentedStatus = keyof typeof descriptions

/** The errors that follow from a route's definition. Errors of its verb are in the route's `answers`. */
export function documentedErrors(route: Route): Record<number, AnswerDoc> {
  const authenticated = route.access !== 'public'
  const hasBody = route.body !== undefined || route.passedBody !== undefined
  const statuses: [boolean, DocumentedStatus][] = [
    // A public route without input can still receive a message that is not HTTP.
    [hasBody || hasStrictQuery(route) || route.passedQuery !== undefined || !authenticated, 400],
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
  const documented = Object.fromEntries(
    statuses.filter(([applies]) => applies).map(([, status]) => [status, { description: descriptions[status] }]),
  )
  return route.access === 'device' ? { ...documented, 404: unknownToGateway } : documented
}

const unknownToGateway = { description: 'A gateway’s key opens no such device (`device_unknown`).' }

/** 409 of a route that adds to what a limit counts, for its `answers`. `others`: sentences with its other reasons. */
export const limitReached = (limit: LimitName, ...others: string[]) => ({
  409: {
    description: [
      ...others,
      `The limit \`${limit}\` of the plan is reached (\`limit_reached\`, with \`limit\` and \`used\`).`,
    ].join(' '),
  },
})

/** Errors of verbs that write to an organization, for a route's `answers`. */
export const writeErrors = { 402: { description: descriptions[402] } }
