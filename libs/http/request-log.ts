import { type Logger, pino } from 'pino'

export type { Logger }

/** Everything a request's log line may contain. An allow-list, because redaction by path misses what nobody thought of. */
export type RequestLogFields = {
  requestId: string
  method: string
  /** The route's pattern, not the concrete path: ids and query strings stay out of the log. */
  route: string
  status: number
  durationMs: number
  principal?: string | undefined
  code?: string | undefined
}

/** A logger that writes one JSON line per event to stdout. `app` stands on every line. */
export const createLogger = (app: string, level: string): Logger =>
  pino({
    level,
    base: { app },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  })

/** Writes one request's line: info, or error for our own failures. */
export function logRequest(logger: Logger, fields: RequestLogFields): void {
  const { requestId, method, route, status, durationMs, principal, code } = fields
  const line = { requestId, method, route, status, durationMs: Math.round(durationMs * 100) / 100, principal, code }
  if (status >= 500) logger.error(line, 'request')
  else logger.info(line, 'request')
}

/**
 * Logs what made a request fail, without the message: driver errors quote the values they were given. The name, the
 * driver's code and the stack's places say where to look.
 */
export function logFailure(logger: Logger, requestId: string, error: unknown): void {
  const failure = error instanceof Error ? error : new Error('not an Error')
  const places = failure.stack?.split('\n').filter((line) => line.trimStart().startsWith('at '))
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined
  logger.error(
    { requestId, error: failure.name, code, places: places?.slice(0, 8).map((line) => line.trim()) },
    'failure',
  )
}
