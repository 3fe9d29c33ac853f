import { Producer } from '@platformatic/kafka'
import { repeat } from '#core/schedule'
import { type AppendQueueFigures, createAppendQueue, type WaitingAppend } from '#telemetry-log/append-queue'
import { type CommitFigures, createCommitMeter } from '#telemetry-log/commit-meter'
import { maxFrameBytes } from '#telemetry-log/frame'
import { LogFailedError, LogFullError, type TelemetryLog } from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { clientOptions } from './kafka-client.ts'
import { encodeRecord } from './kafka-record.ts'
import type { KafkaSettings } from './kafka-settings.ts'
import { ensureTopic } from './kafka-topic.ts'

export type KafkaLogOptions = {
  /** Called when the brokers did not acknowledge a group of reports. */
  onFailure?: (error: unknown) => void
  /** Called when the brokers do not accept the producer. It tries again, twice a second. */
  onUnprepared?: (error: unknown) => void
  /** Limits the appends that wait for brokers. Further ones are rejected as if a disk were full. */
  maxWaitingBytes?: number
  maxWaitingReports?: number
}

export type KafkaLog = TelemetryLog & {
  /** Appends that wait for the brokers. */
  queue(): AppendQueueFigures
  /** Groups with the acknowledgement of all in-sync replicas. */
  commits(): CommitFigures
  /** False until the brokers have once accepted this producer. New brokers need seconds for it. */
  isPrepared(): boolean
}

const mebibyte = 1024 ** 2
const preparePauseMs = 500

/**
 * The write side of the telemetry log on Kafka. Appends are sent in groups: one request to each broker for all that arrived
 * while the previous group was in flight, up to 1 MiB. An append resolves when all in-sync replicas have the report. While no
 * broker responds, appends are rejected with LogFullError; they succeed again when one does, also if none did at the start.
 */
export function openKafkaLog(settings: KafkaSettings, options: KafkaLogOptions = {}): KafkaLog {
  const { onFailure, onUnprepared, maxWaitingBytes = 16 * mebibyte, maxWaitingReports = 16_384 } = options
  const producer = new Producer({ ...clientOptions(settings, 'routerfleet-ingest'), idempotent: true })
  const queue = createAppendQueue({ maxBytes: maxWaitingBytes, maxReports: maxWaitingReports })
  const commits = createCommitMeter()
  const preparation = startPreparation(producer, settings, onUnprepared)
  let sending: Promise<void> | undefined
  let isClosed = false

  async function send(group: readonly WaitingAppend[]): Promise<void> {
    if (!preparation.isPrepared()) await preparation.prepare()
    const count = preparation.partitions()
    const { topic } = settings
    const messages = group.map(({ batch }) => ({
      topic,
      partition: partitionOf(batch.deviceId, count),
      ...encodeRecord(batch),
    }))
    await producer.send({ messages })
  }

  async function sendAll(): Promise<void> {
    while (queue.figures().reports > 0) {
      const group = queue.takeGroup(maxFrameBytes)
      const measured = commits.begin()
      try {
        await send(group)
        measured.end()
        for (const { resolve } of group) resolve()
      } catch (error) {
        // The brokers may have part of the group. The devices send all of it again, and the row keys absorb the copies.
        onFailure?.(error)
        for (const { reject } of [...group, ...queue.takeAll()]) reject(new LogFullError())
      }
    }
    sending = undefined
  }

  async function drain(): Promise<void> {
    isClosed = true
    await preparation.stop()
    await sending
  }

  return {
    get partitions() {
      return preparation.partitions()
    },
    append(batch) {
      if (isClosed) return Promise.reject(new LogFailedError())
      return new Promise((resolve, reject) => {
        if (!queue.push({ batch, resolve, reject })) reject(new LogFullError())
        else sending ??= sendAll()
      })
    },
    // Losing the brokers is not a failure of this process.
    failed: new Promise(() => {}),
    drain,
    async close() {
      await drain()
      await producer.close()
    },
    queue: queue.figures,
    commits: commits.figures,
    isPrepared: preparation.isPrepared,
  }
}

/** Creates the topic and obtains the id of the producer. Starts at once, so that the first report does not wait for it. */
function startPreparation(producer: Producer, settings: KafkaSettings, onUnprepared: KafkaLogOptions['onUnprepared']) {
  let partitions: number | undefined
  let isPrepared = false
  let preparing: Promise<void> | undefined

  function prepare(): Promise<void> {
    preparing ??= (async () => {
      partitions ??= await ensureTopic(settings)
      if (!isPrepared) await producer.initIdempotentProducer({})
      isPrepared = true
    })().finally(() => {
      preparing = undefined
    })
    return preparing
  }
  const repeating = repeat(
    preparePauseMs,
    async () => {
      await prepare()
      void repeating.stop()
    },
    (error) => onUnprepared?.(error),
  )
  return {
    /** Rejects if the brokers do not respond. */
    prepare,
    isPrepared: () => isPrepared,
    partitions: () => partitions ?? settings.partitions,
    stop: repeating.stop,
  }
}
