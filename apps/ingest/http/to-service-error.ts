import { ServiceError } from '#core/errors'
import { type Logger, logFailure } from '#http/request-log'
import { isUnavailable } from '#postgres/errors'
import { LogFailedError, LogFullError } from '#telemetry-log/log'
import { noRoom } from './no-room.ts'

/**
 * Maps any error to the one that the response shows: 503 if the log or Postgres is unavailable. Logs unexpected errors,
 * which become a 500 without details.
 */
export function toServiceError(error: unknown, requestId: string, logger: Logger): unknown {
  if (error instanceof ServiceError) return error
  if (error instanceof LogFullError) return noRoom()
  if (error instanceof LogFailedError) return unavailable('The report could not be stored. Send it again later.', 5)
  if (isUnavailable(error)) return unavailable('Service temporarily unavailable. Retry later.', 2)
  logFailure(logger, requestId, error)
  return error
}

const unavailable = (detail: string, retryAfterSeconds: number) =>
  new ServiceError(503, 'unavailable', detail, { headers: { 'Retry-After': String(retryAfterSeconds) } })
