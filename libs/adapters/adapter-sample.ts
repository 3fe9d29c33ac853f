import type { Kind } from '#telemetry/report/fields'

/** A sample of a report in the format of `POST /telemetry`. */
export type AdapterSample = Record<string, unknown> & { kind: Kind; ts?: number }
