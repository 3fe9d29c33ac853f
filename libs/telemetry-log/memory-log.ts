import type { LoggedBatch, LogPosition, PartitionTail, TelemetryBatch, TelemetryLogReader } from '#telemetry-log/log'
import { createTailWait } from './tail-wait.ts'

/** One partition in memory, for a few reports that are durable elsewhere. A position is a number of reports. */
export type MemoryLog = {
  append(batch: TelemetryBatch): void
  /** Frees the reports before a position. All readers must have passed it. */
  forget(before: LogPosition): void
  tail: PartitionTail
  openReader(from: LogPosition): TelemetryLogReader
}

/** Opens an empty log. */
export function openMemoryLog(): MemoryLog {
  const batches = new Map<LogPosition, LoggedBatch>()
  let first: LogPosition = 0
  let end: LogPosition = 0
  let samples = 0
  const wait = createTailWait()

  return {
    append(batch) {
      batches.set(end, { ...batch, firstSample: samples, position: end, nextPosition: end + 1 })
      end += 1
      samples += batch.sampleCount
      wait.check()
    },
    forget(before) {
      for (; first < before; first++) batches.delete(first)
    },
    tail: {
      position: () => end,
      waitingBytes(from) {
        let bytes = 0
        for (const { position, body } of batches.values()) if (position >= from) bytes += body.length
        return bytes
      },
      waitBeyond: (beyond, timeoutMs) => wait.until(() => end > beyond, timeoutMs),
      wake: wait.wake,
    },
    openReader(from) {
      let position = from
      return {
        read(until, maxBytes) {
          const found: LoggedBatch[] = []
          for (let bytes = 0; position < until && bytes < maxBytes; position++) {
            const batch = batches.get(position)
            if (!batch) break
            found.push(batch)
            bytes += batch.body.length
          }
          return found
        },
        isLoading: () => false,
        position: () => position,
        seek(target) {
          position = target
        },
        close() {},
      }
    },
  }
}
