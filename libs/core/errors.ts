/** One violation inside a request body or query; `pointer` is an RFC 6901 JSON pointer or a parameter name. */
export type FieldError = { pointer: string; code: string; detail: string }

/**
 * Statuses the service answers deliberately; everything else is a 500 without an inner message. 499 only appears in logs
 * and metrics: the client closed the connection before the answer.
 */
export type ErrorStatus = 400 | 401 | 402 | 403 | 404 | 405 | 409 | 412 | 413 | 415 | 422 | 429 | 499 | 503

type ErrorExtras = {
  errors?: FieldError[]
  /** Extra top-level members of the problem document, such as `limit` and `used`. */
  members?: Record<string, unknown>
  headers?: Record<string, string>
}

/**
 * An answer that is not 2xx, thrown anywhere below a route and rendered as problem+json (RFC 9457) in one place.
 * `code` is the machine-readable word of the contract; `message` becomes `detail` and is shown to the caller.
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

/** `what` is a noun ("device"); the same answer for "does not exist" and "belongs to somebody else". */
export const notFound = (what: string, id?: string) =>
  new ServiceError(404, 'not_found', id === undefined ? `No such ${what}.` : `No such ${what}: ${id}.`)

export const insufficientScope = (scope: string) =>
  new ServiceError(403, 'insufficient_scope', `This needs the scope ${scope}.`, {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

export const conflict = (code: string, detail: string, members?: Record<string, unknown>) =>
  new ServiceError(409, code, detail, members ? { members } : {})

/** The error of a request whose client closed the connection. */
export const clientGone = () => new ServiceError(499, 'client_closed_request', 'The client closed the connection.')

/** Throws `clientGone` once the signal has aborted. */
export function throwIfGone(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw clientGone()
}
