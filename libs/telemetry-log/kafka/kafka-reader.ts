import { setTimeout as delay } from 'node:timers/promises'
import type { LoggedBatch, LogPosition, LogTail, TelemetryLogReader } from '#telemetry-log/log'
import { createKafkaBuffer, type KafkaBuffer } from './kafka-buffer.ts'
import type { Fetched, FetchedRecord, KafkaFetcher } from './kafka-fetcher.ts'
import { decodeRecord, samplesInHeaders } from './kafka-record.ts'

/** A part of the partition that cannot be read. `bytes`: of a record that is not a report; undefined if the broker lacks it. */
export type KafkaDamage = { from: LogPosition; to: LogPosition; bytes?: Buffer }

export type KafkaReaderOptions = {
  from: LogPosition
  /** How many accepted samples lie before this position. Counting starts there. */
  counted?: LogTail
  /** Called once for each damaged part, before the reader continues behind it. */
  onDamage?: (damage: KafkaDamage) => void
  /** Called with every answer of a broker, after its records were added to the buffer. */
  onFetched?: (fetched: Fetched) => void
  /** Called when no broker responds. */
  onRetry?: (error: unknown) => void
  /** Fetches more while fewer bytes are buffered. */
  maxBufferedBytes?: number
}

export type KafkaReader = TelemetryLogReader & {
  /** The position before which all records are in the buffer or read. */
  bufferedPosition(): LogPosition
  /** The position before which all records were fetched, and the accepted samples before it, by the headers of the records. */
  counted(): LogTail
  /** Returns the records from a position on, without a gap, that were fetched and not read yet. Undefined if there are none. */
  buffered(from: LogPosition): Fetched | undefined
}

const mebibyte = 1024 ** 2
const fetchBytes = mebibyte
const retryPauseMs = 500

/**
 * Reads one partition through a buffer that is filled ahead of `read`, so that reading never waits. It fetches from the first
 * `read` on, and again when the buffer has room. A value that is not a report is skipped, and counts as lost samples.
 */
export function openKafkaReader(fetcher: KafkaFetcher, options: KafkaReaderOptions): KafkaReader {
  const { from, counted, onDamage, onFetched, onRetry, maxBufferedBytes = 4 * mebibyte } = options
  const closing = new AbortController()
  let position = from
  let fetchPosition = from
  const buffer = createKafkaBuffer()
  let isWanted = false
  let isFetching = false
  /** Answers to requests of an earlier seek are ignored. */
  let seeks = 0
  const decoder = createDecoder(counted, onDamage)

  const isDue = () => isWanted && !closing.signal.aborted && buffer.bytes() < maxBufferedBytes

  async function fetchWhileDue(): Promise<void> {
    isFetching = true
    while (isDue()) {
      const [seek, at] = [seeks, fetchPosition]
      try {
        const fetched = await fetcher.fetch(at, fetchBytes)
        if (seek !== seeks || closing.signal.aborted) continue
        add(fetched, at)
        onFetched?.(fetched)
      } catch (error) {
        if (closing.signal.aborted) break
        onRetry?.(error)
        await delay(retryPauseMs, undefined, { signal: closing.signal }).catch(() => {})
      }
    }
    isFetching = false
  }

  function add({ records, nextPosition }: Fetched, at: LogPosition): void {
    buffer.add(records)
    decoder.countFetched(records)
    fetchPosition = nextPosition
    // The broker has deleted the part, or lost its end.
    if (records.length === 0 && nextPosition !== at) onDamage?.({ from: at, to: nextPosition })
    if (buffer.isEmpty()) position = nextPosition
  }

  function fetchWhenDue(): void {
    if (!isFetching && isDue()) fetchWhileDue()
  }

  return {
    read(until, maxBytes) {
      isWanted = true
      const { batches, nextPosition } = takeBatches(buffer, decoder.decode, until, maxBytes)
      position = nextPosition ?? position
      // Behind the last record there may be positions without a record.
      if (buffer.isEmpty()) position = fetchPosition
      fetchWhenDue()
      return batches
    },
    isLoading: (until) => position < until && !closing.signal.aborted,
    position: () => position,
    bufferedPosition: () => fetchPosition,
    counted: () => ({ position: Math.max(fetchPosition, counted?.position ?? 0), samples: decoder.fetchedSamples() }),
    buffered: buffer.from,
    seek(target) {
      // Until the next read, nothing is fetched: the position may move again.
      isWanted = false
      const kept = target >= position && target <= fetchPosition
      buffer.clear(kept ? target : undefined)
      position = target
      if (kept) return
      fetchPosition = target
      seeks += 1
    },
    close() {
      closing.abort()
      buffer.clear()
      fetcher.close().catch(() => {})
    },
  }
}

/** Takes the reports before a position from the buffer, about `maxBytes`. `nextPosition`: behind the last record taken. */
function takeBatches(
  buffer: KafkaBuffer,
  decode: (record: FetchedRecord) => LoggedBatch | undefined,
  until: LogPosition,
  maxBytes: number,
): { batches: LoggedBatch[]; nextPosition: LogPosition | undefined } {
  const batches: LoggedBatch[] = []
  let nextPosition: LogPosition | undefined
  let bytes = 0
  buffer.takeWhile((record) => {
    if (record.position >= until || bytes >= maxBytes) return false
    const batch = decode(record)
    nextPosition = record.position + 1
    if (!batch) return true
    batches.push(batch)
    // A small record can hold a large body.
    bytes += batch.body.length
    return true
  })
  return { batches, nextPosition }
}

/** Decodes records, and counts accepted samples from a position on: in the records that were fetched, and in those decoded. */
function createDecoder(counted: LogTail | undefined, onDamage: KafkaReaderOptions['onDamage']) {
  let samples = counted?.samples ?? 0
  let fetchedSamples = samples
  const isCounted = ({ position }: FetchedRecord) => counted !== undefined && position >= counted.position
  return {
    countFetched(records: readonly FetchedRecord[]) {
      for (const record of records) if (isCounted(record)) fetchedSamples += samplesInHeaders(record.headers)
    },
    fetchedSamples: () => fetchedSamples,
    decode(record: FetchedRecord): LoggedBatch | undefined {
      const { value, headers, position } = record
      const batch = value === null ? undefined : decodeRecord(value)
      const firstSample = samples
      if (isCounted(record)) samples += batch?.sampleCount ?? samplesInHeaders(headers)
      if (batch) return { ...batch, firstSample, position, nextPosition: position + 1 }
      onDamage?.({ from: position, to: position + 1, bytes: value ?? Buffer.alloc(0) })
      return undefined
    },
  }
}
