import type { DeviceClass } from '#telemetry/dwell'
import type { BatchFormat } from '#telemetry/envelope'

/** Bytes from the beginning of the log over all segments. It only increases. */
export type LogPosition = number

/** An accepted report: its device, its time of receipt and the decompressed body as sent. */
export type TelemetryBatch = {
  deviceId: string
  organizationId: string
  /** Selects the dwell policy. Stored at accept, so that a replay gives the same result. */
  deviceClass: DeviceClass
  receivedAtMs: number
  /** Samples older than this were rejected at accept. Stored so that decoding again gives the same result. */
  oldestTsMs: number
  format: BatchFormat
  /** How many samples of the body were accepted. */
  sampleCount: number
  body: Buffer
  /** The body as sent if it was compressed. The log may store this instead. */
  compressed?: CompressedBody
}

export type Coding = 'gzip' | 'zstd'
type CompressedBody = { coding: Coding; bytes: Buffer }

/** A batch read back. `firstSample` counts the accepted samples before it since the log began. */
export type LoggedBatch = TelemetryBatch & { firstSample: number; position: LogPosition; nextPosition: LogPosition }

/** Where the durable part of the log ends, and how many accepted samples lie before that point since it began. */
export type LogTail = { position: LogPosition; samples: number }

/** The write side. One per log. */
export type TelemetryLog = {
  /**
   * Resolves when the batch is durable. Rejects with LogFullError if the disk is full or too slow, or if no file can be
   * opened: nothing was stored and a later append may succeed. Rejects with LogFailedError if durability can no longer be
   * guaranteed.
   */
  append(batch: TelemetryBatch): Promise<void>
  tail(): LogTail
  /** Resolves with the cause if a write or sync failed or another process took the log over. This process must exit. */
  failed: Promise<Error>
  /** Rejects further appends and waits for pending ones. */
  drain(): Promise<void>
  /** Drains and releases the log. Readers and writers of its folder in other threads must have stopped. */
  close(): Promise<void>
}

/** The read side. It may run in another thread. */
export type TelemetryLogReader = {
  /** Batches from the reader's position up to `until` (a durable tail), about `maxBytes` at most; empty when none. */
  read(until: LogPosition, maxBytes: number): LoggedBatch[]
  position(): LogPosition
  seek(position: LogPosition): void
  close(): void
}

/** There is no room for the batch. A later append may succeed. */
export class LogFullError extends Error {
  constructor() {
    super('The telemetry log has no room left.')
    this.name = 'LogFullError'
  }
}

/** A write or sync failed, or the log was closed. The content of the disk is unknown. */
export class LogFailedError extends Error {
  constructor(cause?: unknown) {
    super('The telemetry log can no longer be written.', { cause })
    this.name = 'LogFailedError'
  }
}

/** Another running process uses the log's folder. */
export class LogInUseError extends Error {
  constructor(folder: string, holder: string) {
    super(`The telemetry log ${folder} is in use by ${holder}; stop it or choose another folder.`)
    this.name = 'LogInUseError'
  }
}
