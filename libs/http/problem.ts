import { ServiceError } from '#core/errors'

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
}

/** An RFC 9457 problem document with the members of this service. Further members are at top level. */
type Problem = {
  type: string
  title: string
  status: number
  detail: string
  code: string
  requestId: string
  errors?: { pointer: string; code: string; detail: string }[]
  [member: string]: unknown
}

/**
 * Returns the problem document of a thrown value. A `ServiceError` keeps its message; any other value becomes a 500 without
 * its message, because inner messages may quote data.
 */
export function toProblem(error: unknown, requestId: string): Problem {
  if (!(error instanceof ServiceError)) {
    return {
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      detail: 'Internal error. The log entry has the `requestId` of this response.',
      code: 'internal_error',
      requestId,
    }
  }
  return {
    ...error.members,
    type: 'about:blank',
    title: titles[error.status] ?? 'Error',
    status: error.status,
    detail: error.message,
    code: error.code,
    requestId,
    ...(error.errors ? { errors: error.errors } : {}),
  }
}

/** `toProblem` as a response, with the headers the error carries (`Allow`, `Retry-After`, `WWW-Authenticate`). */
export function problemResponse(error: unknown, requestId: string): Response {
  const problem = toProblem(error, requestId)
  const headers = error instanceof ServiceError ? error.headers : undefined
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { ...headers, 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  })
}
