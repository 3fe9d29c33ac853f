import type { DeviceClass } from '#telemetry/dwell'
import type { BatchFormat } from '#telemetry/envelope'

/** Bytes from the beginning of the log, over all its segments; grows for ever and is never reused. */
export type LogPosition = number

/** One accepted report, as the accept path hands it over: who sent it, when, and the decompressed body as it came. */
export type TelemetryBatch = {
  deviceId: string
  organizationId: string
  /** Decides what counts as a stay; stamped at accept, so that a replay sees what the first pass saw. */
  deviceClass: DeviceClass
  receivedAtMs: number
  /** Samples older than this were refused at accept; kept so that decoding again gives the same answer. */
  oldestTsMs: number
  format: BatchFormat
  /** How many samples of the body were accepted. */
  sampleCount: number
  body: Buffer
  /** The body as it was sent, when that was compressed: the log may keep this instead. */
  compressed?: CompressedBody
}

export type Coding = 'gzip' | 'zstd'
export type CompressedBody = { coding: Coding; bytes: Buffer }

/** A batch read back. `firstSample` counts the accepted samples before it since the log began. */
export type LoggedBatch = TelemetryBatch & { firstSample: number; position: LogPosition; nextPosition: LogPosition }

/** Where the durable part of the log ends, and how many accepted samples lie before that point since it began. */
export type LogTail = { position: LogPosition; samples: number }

/** The writing side; one per log. */
export type TelemetryLog = {
  /**
   * Resolves once the batch is durable. Rejects with LogFullError when the disk has no room, is too slow for what waits
   * already, or no further file may be open (nothing was kept, a later append may succeed), and with LogFailedError when
   * durability can no longer be promised.
   */
  append(batch: TelemetryBatch): Promise<void>
  tail(): LogTail
  /** Resolves with the cause when a write or sync failed or the log was lost to another process: this one must end. */
  failed: Promise<Error>
  /** Refuses further appends and waits for those that were begun. */
  drain(): Promise<void>
  /** Drains and releases the log. Readers and writers of its folder in other threads must have stopped. */
  close(): Promise<void>
}

/** The reading side; may live in another thread. */
export type TelemetryLogReader = {
  /** Batches from the reader's position up to `until` (a durable tail), about `maxBytes` at most; empty when none. */
  read(until: LogPosition, maxBytes: number): LoggedBatch[]
  position(): LogPosition
  seek(position: LogPosition): void
  close(): void
}

/** There is no room for the batch at the moment. */
export class LogFullError extends Error {
  constructor() {
    super('The telemetry log has no room left.')
    this.name = 'LogFullError'
  }
}

/** A write or sync failed, or the log was closed: what is on disk can no longer be vouched for. */
export class LogFailedError extends Error {
  constructor(cause?: unknown) {
    super('The telemetry log can no longer be written.', { cause })
    this.name = 'LogFailedError'
  }
}

/** Another living process uses the log's folder. */
export class LogInUseError extends Error {
  constructor(folder: string, holder: string) {
    super(`The telemetry log ${folder} is in use by ${holder}; stop it or choose another folder.`)
    this.name = 'LogInUseError'
  }
}
