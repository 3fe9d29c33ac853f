/** One violation inside a request body or query; `pointer` is an RFC 6901 JSON pointer or a parameter name. */
export type FieldError = { pointer: string; code: string; detail: string }

/**
 * The error statuses that the service returns on purpose; any other error is a 500 without an inner message. 499 appears
 * only in logs and metrics: the client closed the connection before the response.
 */
type ErrorStatus = 400 | 401 | 402 | 403 | 404 | 405 | 406 | 408 | 409 | 412 | 413 | 415 | 422 | 429 | 499 | 503

type ErrorExtras = {
  errors?: FieldError[]
  /** Extra top-level members of the problem document, such as `limit` and `used`. */
  members?: Record<string, unknown>
  headers?: Record<string, string>
}

/**
 * An error response, thrown anywhere below a route and rendered as problem+json (RFC 9457) in one place. `code` is the
 * machine-readable code of the API; `message` becomes `detail`, which the caller reads.
 */
export class ServiceError extends Error {
  readonly status: ErrorStatus
  readonly code: string
  readonly errors: FieldError[] | undefined
  readonly members: Record<string, unknown> | undefined
  readonly headers: Record<string, string> | undefined

  constructor(status: ErrorStatus, code: string, detail: string, extras: ErrorExtras = {}) {
    super(detail)
    this.name = 'ServiceError'
    this.status = status
    this.code = code
    this.errors = extras.errors
    this.members = extras.members
    this.headers = extras.headers
  }
}

export const badRequest = (detail: string, errors?: FieldError[], code = 'invalid_request') =>
  new ServiceError(400, code, detail, errors ? { errors } : {})

/** 404 for an object that does not exist or that the caller may not see. `what` is a noun, such as "device". */
export const notFound = (what: string, id?: string) =>
  new ServiceError(404, 'not_found', id === undefined ? `No such ${what}.` : `No such ${what}: ${id}.`)

/** 403 that names the missing scopes. */
export const insufficientScope = (...missing: string[]) =>
  new ServiceError(403, 'insufficient_scope', missingText(missing), {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${missing.join(' ')}"` },
  })

const missingText = (missing: readonly string[]) =>
  missing.length === 1
    ? `The required scope is missing: ${missing[0]}.`
    : `The required scopes are missing: ${missing.join(', ')}.`

export const conflict = (code: string, detail: string, members?: Record<string, unknown>) =>
  new ServiceError(409, code, detail, members ? { members } : {})

/** 499 for a request whose client closed the connection. */
export const clientClosedRequest = () =>
  new ServiceError(499, 'client_closed_request', 'The client closed the connection.')

/** Throws `clientClosedRequest` when the signal has aborted. */
export function throwIfClosed(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw clientClosedRequest()
}
