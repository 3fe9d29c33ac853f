import { newId } from '#core/ids'

// Long enough for any tracing system's ids, and nothing that could forge a log line or a header.
const sane = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** The caller's `X-Request-Id` when it is sane, else a fresh UUIDv7; echoed in the answer and written to the log. */
export const requestIdFrom = (header: string | null | undefined): string =>
  header && sane.test(header) ? header : newId()
