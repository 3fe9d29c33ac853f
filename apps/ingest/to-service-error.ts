import { ServiceError } from '#core/errors'
import { type Logger, logFailure } from '#http/request-log'
import { isUnavailable } from '#postgres/errors'

/** What a caller is told of a failure: a part that is away is a 503; what nobody expected is logged and stays inside. */
export function shownError(error: unknown, requestId: string, logger: Logger): unknown {
  if (isUnavailable(error)) {
    const detail = 'A part of the service is away. Try again shortly.'
    return new ServiceError(503, 'unavailable', detail, { headers: { 'Retry-After': '2' } })
  }
  if (!(error instanceof ServiceError)) logFailure(logger, requestId, error)
  return error
}
