import { type Logger, pino } from 'pino'

export type { Logger }

/** The fields of a request's log line. An allow-list, because redaction by path misses unexpected fields. */
type RequestLogFields = {
  requestId: string
  method: string
  /** The pattern of the route. The path itself is not logged, because it contains ids and query strings. */
  route: string
  status: number
  durationMs: number
  principal?: string | undefined
  code?: string | undefined
  /** The deprecated operation or parameters that the request uses. */
  deprecated?: readonly string[] | undefined
}

/** Creates a logger that writes one JSON line per event to stdout. Every line has the field `app`. */
export const createLogger = (app: string, level: string): Logger =>
  pino({
    level,
    base: { app },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  })

/** Logs a request: at level error for status 500 and above, otherwise info. */
export function logRequest(logger: Logger, fields: RequestLogFields): void {
  const { requestId, method, route, status, durationMs, principal, code, deprecated } = fields
  const line = {
    requestId,
    method,
    route,
    status,
    durationMs: Math.round(durationMs * 100) / 100,
    principal,
    code,
    deprecated,
  }
  if (status >= 500) logger.error(line, 'request')
  else logger.info(line, 'request')
}

/**
 * Logs the error of a failed request with its name, code and stack locations. Leaves out the message, because errors of
 * database drivers quote values. `organizationId`: whose work failed, if it was that of one organization.
 */
export function logFailure(logger: Logger, requestId: string, error: unknown, organizationId?: string): void {
  const failure = error instanceof Error ? error : new Error('not an Error')
  const places = failure.stack?.split('\n').filter((line) => line.trimStart().startsWith('at '))
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined
  logger.error(
    { requestId, organizationId, error: failure.name, code, places: places?.slice(0, 8).map((line) => line.trim()) },
    'failure',
  )
}
