import { setTimeout as delay } from 'node:timers/promises'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import type { Fetched, FetchedRecord, KafkaFetcher } from './kafka-fetcher.ts'
import { decodeRecord, samplesInHeaders } from './kafka-record.ts'

/** A part of the partition that cannot be read. `bytes`: of a record that is not a report; undefined if the broker lacks it. */
export type KafkaDamage = { from: LogPosition; to: LogPosition; bytes?: Buffer }

export type KafkaReaderOptions = {
  from: LogPosition
  /** How many accepted samples lie before this position. Counting starts there. */
  counted?: { position: LogPosition; samples: number }
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
  /** Returns the records from a position on, without a gap, that were fetched and not read yet. Undefined if there are none. */
  buffered(from: LogPosition): Fetched | undefined
}

const mebibyte = 1024 ** 2
const fetchBytes = mebibyte
const retryPauseMs = 500
/** Estimated bytes of a record without its value. */
const recordBytes = 256

type Buffered = FetchedRecord & { bytes: number }

/**
 * Reads one partition through a buffer that is filled ahead of `read`, so that reading never waits. It fetches from the first
 * `read` on, and again when the buffer has room. A value that is not a report is skipped, and counts as lost samples.
 */
export function openKafkaReader(fetcher: KafkaFetcher, options: KafkaReaderOptions): KafkaReader {
  const { from, counted, onDamage, onFetched, onRetry, maxBufferedBytes = 4 * mebibyte } = options
  const closing = new AbortController()
  let position = from
  let fetchPosition = from
  let buffer: Buffered[] = []
  let bufferedBytes = 0
  let isWanted = false
  let isFetching = false
  /** Answers to requests of an earlier seek are ignored. */
  let seeks = 0
  let samples = counted?.samples ?? 0

  const isDue = () => isWanted && !closing.signal.aborted && bufferedBytes < maxBufferedBytes

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
    for (const record of records) {
      const bytes = recordBytes + (record.value?.length ?? 0)
      buffer.push({ ...record, bytes })
      bufferedBytes += bytes
    }
    fetchPosition = nextPosition
    // The broker has deleted the part, or lost its end.
    if (records.length === 0 && nextPosition !== at) onDamage?.({ from: at, to: nextPosition })
    if (buffer.length === 0) position = nextPosition
  }

  function decode({ value, headers, position: at }: Buffered): LoggedBatch | undefined {
    const batch = value === null ? undefined : decodeRecord(value)
    const firstSample = samples
    if (counted && at >= counted.position) samples += batch?.sampleCount ?? samplesInHeaders(headers)
    if (batch) return { ...batch, firstSample, position: at, nextPosition: at + 1 }
    onDamage?.({ from: at, to: at + 1, bytes: value ?? Buffer.alloc(0) })
    return undefined
  }

  function fetchWhenDue(): void {
    if (!isFetching && isDue()) fetchWhileDue()
  }

  return {
    read(until, maxBytes) {
      isWanted = true
      const batches: LoggedBatch[] = []
      let taken = 0
      let bytes = 0
      for (const record of buffer) {
        if (record.position >= until || bytes >= maxBytes) break
        const batch = decode(record)
        taken += 1
        bufferedBytes -= record.bytes
        position = record.position + 1
        if (!batch) continue
        batches.push(batch)
        // A small record can hold a large body.
        bytes += batch.body.length
      }
      buffer = buffer.slice(taken)
      // Behind the last record there may be positions without a record.
      if (buffer.length === 0) position = fetchPosition
      fetchWhenDue()
      return batches
    },
    isLoading: (until) => position < until && !closing.signal.aborted,
    position: () => position,
    bufferedPosition: () => fetchPosition,
    buffered(from) {
      const start = buffer.findIndex((record) => record.position === from)
      if (start < 0) return undefined
      const gap = buffer.findIndex((record, index) => index >= start && record.position !== from + index - start)
      const records = buffer.slice(start, gap < 0 ? undefined : gap)
      return { records, nextPosition: from + records.length, highWatermark: undefined }
    },
    seek(target) {
      // Until the next read, nothing is fetched: the position may move again.
      isWanted = false
      const kept = target >= position && target <= fetchPosition
      const dropped = kept ? buffer.filter((record) => record.position < target) : buffer
      buffer = kept ? buffer.slice(dropped.length) : []
      bufferedBytes -= dropped.reduce((sum, record) => sum + record.bytes, 0)
      position = target
      if (kept) return
      fetchPosition = target
      seeks += 1
    },
    close() {
      closing.abort()
      buffer = []
      fetcher.close().catch(() => {})
    },
  }
}
