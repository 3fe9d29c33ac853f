import type { LogPosition } from '#telemetry-log/log'
import type { Fetched, FetchedRecord } from './kafka-fetcher.ts'

/** Records of one partition that were fetched and not read yet. */
export type KafkaBuffer = {
  add(fetched: readonly FetchedRecord[]): void
  /** Estimated bytes of the records. */
  bytes(): number
  isEmpty(): boolean
  /** Passes the records to `take` in order and removes them, up to the first for which it returns false. */
  takeWhile(take: (record: FetchedRecord) => boolean): void
  /** Removes the records before a position; without one, all. */
  clear(before?: LogPosition): void
  /** Returns the records from a position on, without a gap. Undefined if there are none. */
  from(position: LogPosition): Fetched | undefined
}

/** Estimated bytes of a record without its value. */
const recordBytes = 256

const bytesOf = ({ value }: FetchedRecord): number => recordBytes + (value?.length ?? 0)

export function createKafkaBuffer(): KafkaBuffer {
  let records: FetchedRecord[] = []
  let bytes = 0

  function removeFirst(count: number): void {
    for (let index = 0; index < count; index++) bytes -= bytesOf(records[index] as FetchedRecord)
    records = records.slice(count)
  }

  return {
    add(fetched) {
      for (const record of fetched) {
        records.push(record)
        bytes += bytesOf(record)
      }
    },
    bytes: () => bytes,
    isEmpty: () => records.length === 0,
    takeWhile(take) {
      const kept = records.findIndex((record) => !take(record))
      removeFirst(kept < 0 ? records.length : kept)
    },
    clear(before = Number.POSITIVE_INFINITY) {
      const kept = records.findIndex((record) => record.position >= before)
      removeFirst(kept < 0 ? records.length : kept)
    },
    from(position) {
      const start = records.findIndex((record) => record.position === position)
      if (start < 0) return undefined
      const gap = records.findIndex((record, index) => index >= start && record.position !== position + index - start)
      const found = records.slice(start, gap < 0 ? undefined : gap)
      return { records: found, nextPosition: position + found.length, highWatermark: undefined }
    },
  }
}
