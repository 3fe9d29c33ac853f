import type { LogPosition, PartitionTail, TelemetryLogReader } from '#telemetry-log/log'
import { type Fetched, openKafkaFetcher } from './kafka-fetcher.ts'
import { type KafkaReader, type KafkaReaderOptions, openKafkaReader } from './kafka-reader.ts'
import type { KafkaSettings } from './kafka-settings.ts'

export type KafkaPartition = {
  /** The position of the oldest record. */
  beginning: LogPosition
  tail: PartitionTail
  /** Opens the reader for whose records `tail.waitBeyond` waits. It replaces an earlier one. */
  openMainReader(options: KafkaReaderOptions): TelemetryLogReader
  /** Opens a further reader of the same partition. */
  openReader(options: KafkaReaderOptions): TelemetryLogReader
}

/** Estimated bytes of a report before the first one was read. */
const assumedRecordBytes = 2_048

/** Opens one partition for reading. Rejects if no broker responds. */
export async function openKafkaPartition(settings: KafkaSettings, partition: number): Promise<KafkaPartition> {
  const fetcher = openKafkaFetcher(settings, partition)
  const limits = Promise.all([fetcher.beginning(), fetcher.end()])
  const [beginning, end] = await limits.finally(() => fetcher.close())
  let highWatermark = end
  let recordBytes = assumedRecordBytes
  let main: KafkaReader | undefined
  const readers = new Set<KafkaReader>()
  let waiting: { beyond: LogPosition; end: () => void } | undefined

  function follow({ records, highWatermark: newest }: Fetched): void {
    highWatermark = Math.max(highWatermark, newest ?? 0)
    const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    if (records.length > 0) recordBytes = 0.9 * recordBytes + 0.1 * (bytes / records.length)
  }

  const isReadable = (beyond: LogPosition) => (main?.bufferedPosition() ?? 0) > beyond

  function open(options: KafkaReaderOptions): KafkaReader {
    const fetcher = openKafkaFetcher(settings, partition)
    const reader = openKafkaReader(
      {
        ...fetcher,
        fetch: async (from, maxBytes) => fetchedBefore(from) ?? fetcher.fetch(from, maxBytes),
        close() {
          readers.delete(reader)
          return fetcher.close()
        },
      },
      {
        ...options,
        onFetched(fetched) {
          follow(fetched)
          options.onFetched?.(fetched)
          if (waiting && isReadable(waiting.beyond)) waiting.end()
        },
      },
    )
    readers.add(reader)
    return reader
  }

  /** Returns records that another reader has fetched, so that a backlog that is also read ahead is fetched once. */
  function fetchedBefore(from: LogPosition): Fetched | undefined {
    for (const reader of readers) {
      const found = reader.buffered(from)
      if (found) return found
    }
    return undefined
  }

  return {
    beginning,
    tail: {
      position: () => highWatermark,
      waitingBytes: (from) => Math.max(0, highWatermark - from) * recordBytes,
      waitBeyond(beyond, timeoutMs) {
        if (isReadable(beyond)) return Promise.resolve()
        return new Promise((resolve) => {
          const timer = setTimeout(() => waiting?.end(), timeoutMs)
          waiting = {
            beyond,
            end() {
              clearTimeout(timer)
              waiting = undefined
              resolve()
            },
          }
        })
      },
      wake: () => waiting?.end(),
    },
    openMainReader(options) {
      main = open(options)
      return main
    },
    openReader: open,
  }
}
