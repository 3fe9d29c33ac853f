import { setTimeout as delay } from 'node:timers/promises'
import { Consumer, type KafkaRecord } from '@platformatic/kafka'
import type { LogPosition } from '#telemetry-log/log'
import { clientOptions, isProtocolError } from './kafka-client.ts'
import type { KafkaSettings } from './kafka-settings.ts'

/** A record as the broker keeps it. Everything before `nextPosition` and after the previous record holds no other record. */
export type FetchedRecord = Pick<KafkaRecord, 'value' | 'headers'> & { position: LogPosition }

export type Fetched = {
  records: FetchedRecord[]
  /** Where to fetch next. Beyond the last record if the broker has skipped some that it no longer has. */
  nextPosition: LogPosition
  /** The position after the last record that all in-sync replicas have. Undefined if the answer does not say it. */
  highWatermark: LogPosition | undefined
}

export type KafkaFetcher = {
  /**
   * Fetches records from a position, about `maxBytes`. Waits for a moment if there are none. Moves a position that is outside
   * of the partition to its nearest end. Rejects if no broker responds.
   */
  fetch(from: LogPosition, maxBytes: number): Promise<Fetched>
  /** Returns the position of the oldest record. */
  beginning(): Promise<LogPosition>
  /** Returns the position after the last record. */
  end(): Promise<LogPosition>
  /** Ends a fetch in progress and closes the connection. */
  close(): Promise<void>
}

const longestWaitMs = 1_000
/** Bit of a batch of transaction markers, which is not for readers. */
const controlBatch = 0x20
const earliest = -2n
const latest = -1n

/**
 * Fetches one partition on a connection of its own: a broker answers one request of a connection at a time, so a fetch that
 * waits for new records would delay all other requests.
 */
export function openKafkaFetcher(settings: KafkaSettings, partition: number): KafkaFetcher {
  const { topic } = settings
  const consumer = new Consumer({ ...clientOptions(settings, 'routerfleet-reader'), groupId: 'routerfleet-readers' })
  consumer.topics.track(topic)

  async function limit(timestamp: bigint): Promise<LogPosition> {
    const offsets = await consumer.listOffsets({ topics: [topic], partitions: { [topic]: [partition] }, timestamp })
    return Number(offsets.get(topic)?.[partition] ?? 0n)
  }

  async function request(from: LogPosition, maxBytes: number): Promise<Fetched> {
    const { topics } = await consumer.metadata({ topics: [topic] })
    const known = topics.get(topic)
    const leader = known?.partitions[partition]?.leader
    if (known === undefined || leader === undefined) throw new Error(`Kafka has no partition ${partition} of ${topic}.`)
    const { responses } = await consumer.fetch({
      node: leader,
      maxWaitTime: longestWaitMs,
      minBytes: 1,
      maxBytes,
      topics: [
        {
          topicId: known.id,
          partitions: [
            {
              partition,
              currentLeaderEpoch: -1,
              fetchOffset: BigInt(from),
              lastFetchedEpoch: -1,
              partitionMaxBytes: maxBytes,
            },
          ],
        },
      ],
    })
    const found = responses[0]?.partitions[0]
    const records: FetchedRecord[] = []
    let nextPosition = from
    for (const batch of found?.records ?? []) {
      const base = Number(batch.firstOffset)
      nextPosition = Math.max(nextPosition, base + batch.lastOffsetDelta + 1)
      if (batch.attributes & controlBatch) continue
      for (const { offsetDelta, value, headers } of batch.records) {
        // A batch is returned as a whole, so it may begin before the position.
        if (base + offsetDelta < from) continue
        // A view into the whole answer would keep all of it in memory.
        records.push({ position: base + offsetDelta, value: value && Buffer.from(value), headers })
      }
    }
    return { records, nextPosition, highWatermark: found && Number(found.highWatermark) }
  }

  return {
    async fetch(from, maxBytes) {
      try {
        return await request(from, maxBytes)
      } catch (error) {
        if (!isProtocolError(error, 'OFFSET_OUT_OF_RANGE')) throw error
        const [first, end] = await Promise.all([limit(earliest), limit(latest)])
        // An election in progress may answer with an older end.
        if (from >= first && from <= end) await delay(longestWaitMs)
        return { records: [], nextPosition: Math.min(Math.max(from, first), end), highWatermark: end }
      }
    },
    beginning: () => limit(earliest),
    end: () => limit(latest),
    close: () => consumer.close(true),
  }
}
