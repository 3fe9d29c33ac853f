export type SampleKind = 'connection' | 'cellular' | 'system' | 'location'

/**
 * One telemetry sample as it goes over the wire: `ts` in epoch milliseconds, then the fields of its kind with the unit
 * in the name. Values are what the modem or receiver said, sentinels included: cleaning them is the service's part.
 */
export type Sample = { ts: number; kind: SampleKind; [field: string]: unknown }

/** Where samples come from: a recorded drive, this machine, or a simulated router. */
export type SampleSource = {
  /** The samples taken since the last call, oldest first, none later than `nowMs`. */
  collect: (nowMs: number) => Sample[]
  /** False while there is no radio bearer: nothing is sent, samples wait in the buffer. */
  isLinkUp: (nowMs: number) => boolean
  /** True when no sample will ever come again (the end of a recording). */
  isExhausted: (nowMs: number) => boolean
}
