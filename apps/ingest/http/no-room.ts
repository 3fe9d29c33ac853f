import { ServiceError } from '#core/errors'

/** Returns the 503 for a full log. Nothing was stored, so the device must send its samples again. */
export const noRoom = () =>
  new ServiceError(503, 'backlog_full', 'The backlog of the service is full. Keep the samples and retry later.', {
    headers: { 'Retry-After': jitteredSeconds() },
  })

/** Random, so that a fleet does not retry in the same second. */
export const jitteredSeconds = () => String(5 + Math.floor(Math.random() * 26))
