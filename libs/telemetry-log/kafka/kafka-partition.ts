import type { LogPosition, LogTail, PartitionTail, TelemetryLogReader } from '#telemetry-log/log'
import { createTailWait } from '#telemetry-log/tail-wait'
import { type Fetched, openKafkaFetcher } from './kafka-fetcher.ts'
import { type KafkaReader, type KafkaReaderOptions, openKafkaReader } from './kafka-reader.ts'
import { samplesInHeaders } from './kafka-record.ts'
import type { KafkaSettings } from './kafka-settings.ts'

export type KafkaPartition = {
  /** The position of the oldest record. */
  beginning: LogPosition
  tail: PartitionTail
  /**
   * Where the partition ends, and how many accepted samples lie before that since it began: counted in the records that were
   * fetched, and estimated for the others. `known`: a position and the samples before it, until the main reader is open.
   */
  end(known: LogTail): LogTail
  /** Records that the partition has ended at a position or later. */
  noteEnd(end: LogPosition): void
  /** Opens the reader for whose records `tail.waitBeyond` waits. It replaces an earlier one. */
  openMainReader(options: KafkaReaderOptions): TelemetryLogReader
  /** Opens a further reader of the same partition. */
  openReader(options: KafkaReaderOptions): TelemetryLogReader
}

/** Estimated bytes and samples of a report before the first one was read. */
const assumed = { bytes: 2_048, samples: 5 }

/** Opens one partition for reading. Rejects if no broker responds. */
export async function openKafkaPartition(settings: KafkaSettings, partition: number): Promise<KafkaPartition> {
  const fetcher = openKafkaFetcher(settings, partition)
  const limits = Promise.all([fetcher.beginning(), fetcher.end()])
  const [beginning, end] = await limits.finally(() => fetcher.close())
  let highWatermark = end
  const mean = { ...assumed }
  let main: KafkaReader | undefined
  const readers = new Set<KafkaReader>()
  const wait = createTailWait()

  function follow({ records, highWatermark: newest }: Fetched): void {
    highWatermark = Math.max(highWatermark, newest ?? 0)
    if (records.length === 0) return
    const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    const samples = records.reduce((sum, { headers }) => sum + samplesInHeaders(headers), 0)
    mean.bytes = 0.9 * mean.bytes + 0.1 * (bytes / records.length)
    mean.samples = 0.9 * mean.samples + 0.1 * (samples / records.length)
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
          wait.check()
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
      waitingBytes: (from) => Math.max(0, highWatermark - from) * mean.bytes,
      waitBeyond: (beyond, timeoutMs) => wait.until(() => isReadable(beyond), timeoutMs),
      wake: wait.wake,
    },
    end(known) {
      const { position, samples } = main?.counted() ?? known
      const notFetched = Math.max(0, highWatermark - position)
      return { position: highWatermark, samples: samples + Math.round(notFetched * mean.samples) }
    },
    noteEnd(end) {
      highWatermark = Math.max(highWatermark, end)
    },
    openMainReader(options) {
      main = open(options)
      return main
    },
    openReader: open,
  }
}
