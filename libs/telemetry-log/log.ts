import type { DeviceClass } from '#telemetry/position/dwell'
import type { BatchFormat } from '#telemetry/report/envelope'

/**
 * A position in one partition. It only increases. Segment files: bytes from the beginning of the partition over all
 * segments. Kafka: the offset.
 */
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

/** A batch read back. `firstSample` counts the accepted samples before it since the partition began. */
export type LoggedBatch = TelemetryBatch & { firstSample: number; position: LogPosition; nextPosition: LogPosition }

/** Where the durable part of a partition ends, and how many accepted samples lie before that point since it began. */
export type LogTail = { position: LogPosition; samples: number }

/** The write side of all partitions. Reports of one device are in one partition, in the order of their appends. */
export type TelemetryLog = {
  /** The number of partitions. `partitionOf` selects the partition of a device. */
  partitions: number
  /**
   * Appends to the partition of the batch's device. Resolves when the batch is durable. Rejects with LogFullError if there
   * is no room or storage is too slow: nothing was stored and a later append may succeed. Rejects with LogFailedError if
   * durability can no longer be guaranteed.
   */
  append(batch: TelemetryBatch): Promise<void>
  /** Resolves with the cause if a partition can no longer be written. This process must exit. */
  failed: Promise<Error>
  /** Rejects further appends and waits for pending ones. */
  drain(): Promise<void>
  /** Drains and releases the log. Readers of its partitions in other threads must have stopped. */
  close(): Promise<void>
}

/** The read side of one partition. It may run in another thread. */
export type TelemetryLogReader = {
  /** Batches from the reader's position up to `until` (a durable tail), about `maxBytes` at most; empty when none. */
  read(until: LogPosition, maxBytes: number): LoggedBatch[]
  /** Returns whether an empty read is not the end: batches before `until` are on their way. */
  isLoading(until: LogPosition): boolean
  position(): LogPosition
  seek(position: LogPosition): void
  close(): void
}

/** The durable end of one partition, for its reader. */
export type PartitionTail = {
  position(): LogPosition
  /** Returns about how many bytes lie between a position and the tail. */
  waitingBytes(from: LogPosition): number
  /** Resolves when the tail is beyond `position`, after `wake`, or after `timeoutMs`. Only one caller may wait. */
  waitBeyond(position: LogPosition, timeoutMs: number): Promise<void>
  /** Ends the present wait. */
  wake(): void
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

/** The log cannot be opened with this number of partitions. The message says what to do. */
export class LogLayoutError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LogLayoutError'
  }
}
