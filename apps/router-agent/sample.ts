type SampleKind = 'connection' | 'cellular' | 'system' | 'location'

/**
 * One telemetry sample as it is sent: `ts` in epoch milliseconds, and the fields of its kind with the unit in the name.
 * Values are those of the modem or receiver, including sentinels, which the service removes.
 */
export type Sample = { ts: number; kind: SampleKind; [field: string]: unknown }

/** Where samples come from: a recorded drive, this machine, or a simulated router. */
export type SampleSource = {
  /** The samples taken since the last call, oldest first, none later than `nowMs`. */
  collect: (nowMs: number) => Sample[]
  /** False while there is no radio bearer: samples remain in the buffer. */
  isLinkUp: (nowMs: number) => boolean
  /** True when there will be no more samples (end of a recording). */
  isExhausted: (nowMs: number) => boolean
}
