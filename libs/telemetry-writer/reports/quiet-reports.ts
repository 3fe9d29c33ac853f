import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'

/** Finds reports of devices with few samples in a backlog that other devices caused. */
export type QuietReports = {
  /**
   * Reads ahead of `passed`, everything before which is processed, up to `tail` and within limits. Returns reports to
   * process before the rest of the backlog: a device's reports come in order, and none comes before an unprocessed one of
   * the same device. Returns none if no device with a large backlog was found.
   */
  take(passed: LogPosition, tail: LogPosition): LoggedBatch[]
  /** Closes the file that was read ahead once it is passed: a deleted segment keeps its disk space while it is open. */
  follow(passed: LogPosition): void
  /** Stores the counts of a taken report until the reader passes it. */
  count(position: LogPosition, counts: SampleCounts): void
  /** Whether the report at this position was taken and its counts are stored. */
  has(position: LogPosition): boolean
  /** Forgets a taken report. Returns its counts. */
  pass(position: LogPosition): SampleCounts | undefined
}

export type QuietLimits = {
  /** A device with more bytes of reports waiting than this is not quiet. */
  deviceBytes: number
  /** How many bytes of reports `take` returns, and how many it reads at most. */
  takeBytes: number
  readBytes: number
  /** How far ahead of the passed position to search for reports. */
  aheadBytes: number
  /** How many reports may be processed but not passed. */
  reports: number
}

const defaultLimits: QuietLimits = {
  deviceBytes: 64 * 1024,
  takeBytes: 512 * 1024,
  readBytes: 512 * 1024 ** 2,
  aheadBytes: 4 * 1024 ** 3,
  reports: 100_000,
}
const chunkBytes = 2 * 1024 ** 2
/** Estimated bytes of a report without its body. */
const reportBytes = 512

/** `loudUntil`: the device had too many bytes waiting. Its reports up to here are processed in the order of the log. */
type Waiting = { batches: LoggedBatch[]; bytes: number; loudUntil: LogPosition }

/** `ahead` must be a separate reader of the same log. */
// Long because each part changes the same list of reports that were read ahead.
export function createQuietReports(ahead: TelemetryLogReader, limits: Partial<QuietLimits> = {}): QuietReports {
  const { deviceBytes, takeBytes, readBytes, aheadBytes, reports } = { ...defaultLimits, ...limits }
  const devices = new Map<string, Waiting>()
  const processed = new Map<LogPosition, SampleCounts>()
  let keptBytes = 0

  const sizeOf = ({ body }: LoggedBatch) => reportBytes + body.length

  function note(batch: LoggedBatch): void {
    let waiting = devices.get(batch.deviceId)
    if (!waiting) {
      waiting = { batches: [], bytes: 0, loudUntil: 0 }
      devices.set(batch.deviceId, waiting)
    }
    if (waiting.loudUntil === 0 && waiting.bytes + sizeOf(batch) <= deviceBytes) {
      // The body is a view into a larger buffer.
      waiting.batches.push({ ...batch, body: Buffer.from(batch.body) })
      waiting.bytes += sizeOf(batch)
      keptBytes += sizeOf(batch)
      return
    }
    drop(waiting, waiting.batches.length)
    waiting.loudUntil = batch.nextPosition
  }

  function drop(waiting: Waiting, count: number): LoggedBatch[] {
    const dropped = waiting.batches.splice(0, count)
    const bytes = dropped.reduce((sum, batch) => sum + sizeOf(batch), 0)
    waiting.bytes -= bytes
    keptBytes -= bytes
    return dropped
  }

  function isAnyLoud(): boolean {
    for (const { loudUntil } of devices.values()) if (loudUntil > 0) return true
    return false
  }

  /** Forgets reports that were processed in the order of the log. */
  function forget(passed: LogPosition): void {
    for (const [deviceId, waiting] of devices) {
      const next = waiting.batches.findIndex(({ position }) => position >= passed)
      drop(waiting, next < 0 ? waiting.batches.length : next)
      if (waiting.loudUntil <= passed && waiting.batches.length === 0) devices.delete(deviceId)
    }
    follow(passed)
  }

  function follow(passed: LogPosition): void {
    if (ahead.position() < passed) ahead.seek(passed)
  }

  function readAhead(passed: LogPosition, tail: LogPosition): void {
    const until = Math.min(tail, passed + aheadBytes)
    for (let bytes = 0; bytes < readBytes && keptBytes < takeBytes; ) {
      const batches = ahead.read(until, chunkBytes)
      if (batches.length === 0) return
      for (const batch of batches) {
        note(batch)
        bytes += sizeOf(batch)
      }
    }
  }

  return {
    take(passed, tail) {
      forget(passed)
      if (processed.size >= reports) return []
      readAhead(passed, tail)
      // The reports wait for each other, not for a loud device. Taking some first would only cause more flushes.
      if (!isAnyLoud()) return []
      const taken: LoggedBatch[] = []
      let bytes = 0
      for (const [deviceId, waiting] of devices) {
        if (waiting.loudUntil > 0) continue
        if (bytes + waiting.bytes > takeBytes) break
        bytes += waiting.bytes
        taken.push(...drop(waiting, waiting.batches.length))
        devices.delete(deviceId)
      }
      return taken
    },
    follow,
    count: (position, counts) => void processed.set(position, counts),
    has: (position) => processed.has(position),
    pass(position) {
      const counts = processed.get(position)
      processed.delete(position)
      return counts
    },
  }
}
