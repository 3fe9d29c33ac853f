import { newId } from '#core/ids'

// Long enough for the ids of any tracing system; no characters that could forge a log line or a header.
const accepted = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** Returns the caller's `X-Request-Id` when it is valid, otherwise a new UUIDv7. For the response and the log. */
export const requestIdFrom = (header: string | null | undefined): string =>
  header && accepted.test(header) ? header : newId()
