import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Producer } from '@platformatic/kafka'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { openKafkaLog } from '#telemetry-log/kafka/kafka-log'
import { openKafkaPartition } from '#telemetry-log/kafka/kafka-partition'
import { encodeRecord } from '#telemetry-log/kafka/kafka-record'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import type { LogPosition, TelemetryBatch, TelemetryLog, TelemetryLogReader } from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { openPartitionedLog, type PartitionedLog } from '#telemetry-log/segments/partitioned-log'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { listSegments } from '#telemetry-log/segments/segments'
import { startTestKafka, type TestKafka, whyNoKafka } from './kafka.ts'
import { until } from './until.ts'

export type Damage = { from: LogPosition; to: LogPosition }
type ReadOptions = { from: LogPosition; onDamage?: (damage: Damage) => void }
type PartitionRead = {
  reader: TelemetryLogReader
  /** The position after the last durable report. */
  end(): LogPosition
  /** Resolves when the reader may have more, or after a moment. */
  pause(): Promise<void>
}

/** One log of either kind, with `partitionsOfTest` partitions. */
export type TestLog = {
  /** Opens the log, also after `open` of another process. */
  open(): Promise<TelemetryLog>
  /** Appends a report whose stored bytes then change. */
  appendDamaged(log: TelemetryLog, batch: TelemetryBatch): Promise<void>
  /** Opens a reader of one partition. The log must have been opened. */
  openReader(log: TelemetryLog, partition: number, options: ReadOptions): Promise<PartitionRead>
  /** Where `append-until-killed.ts` appends. */
  target: string
}

export const partitionsOfTest = 3
const waitMs = 60_000

/** Runs the same tests on segment files and on Kafka. Skips Kafka, with the reason, if no broker can be started. */
export async function describeEachLog(what: string, tests: (newLog: () => TestLog) => void): Promise<void> {
  const problem = await whyNoKafka()
  describe(`${what}, in segment files`, () => {
    const root = mkdtempSync(join(tmpdir(), 'routerfleet-log-'))
    let logs = 0
    afterAll(() => rmSync(root, { recursive: true, force: true }))
    tests(() => segmentFiles(join(root, String(logs++))))
  })
  describe(`${what}, on Kafka`, () => {
    beforeEach(({ skip }) => skip(problem !== undefined, problem))
    let kafka: TestKafka
    let topics = 0
    beforeAll(async () => {
      if (!problem) kafka = await startTestKafka()
    }, 180_000)
    afterAll(() => kafka?.stop(), 60_000)
    tests(() => kafkaTopic(kafka.broker, `reports-${topics++}`))
  })
}

function segmentFiles(folder: string): TestLog {
  const opened = new WeakMap<TelemetryLog, PartitionedLog>()
  const partitionAt = (log: TelemetryLog, number: number) => {
    const partition = opened.get(log)?.all[number]
    if (!partition) throw new Error('The log was not opened here.')
    return partition
  }
  return {
    async open() {
      const log = await openPartitionedLog({ folder, partitions: partitionsOfTest })
      opened.set(log, log)
      return log
    },
    async appendDamaged(log, batch) {
      const { place, log: segments } = partitionAt(log, partitionOf(batch.deviceId, partitionsOfTest))
      await log.append(batch)
      const { path = '', base = 0 } = listSegments(place.folder).at(-1) ?? {}
      const bytes = readFileSync(path)
      const at = segments.tail().position - base - 1
      bytes[at] = (bytes[at] ?? 0) ^ 0xff
      writeFileSync(path, bytes)
    },
    async openReader(log, number, options) {
      const { place, log: segments } = partitionAt(log, number)
      const reader = openSegmentReader({ folder: place.folder, deadLetters: place, ...options })
      return { reader, end: () => segments.tail().position, pause: async () => {} }
    },
    target: folder,
  }
}

function kafkaTopic(broker: string, topic: string): TestLog {
  const settings: KafkaSettings = {
    brokers: [broker],
    topic,
    partitions: partitionsOfTest,
    retentionMs: 3_600_000,
    tls: undefined,
    sasl: undefined,
  }
  return {
    async open() {
      const log = openKafkaLog(settings)
      await until('the log is prepared', async () => log.isPrepared(), waitMs)
      return log
    },
    async appendDamaged(_log, batch) {
      const { key, value, headers } = encodeRecord(batch)
      value[value.length - 1] = (value.at(-1) ?? 0) ^ 0xff
      const producer = new Producer({ clientId: 'test', bootstrapBrokers: [broker] })
      const partition = partitionOf(batch.deviceId, partitionsOfTest)
      await producer.send({ messages: [{ topic, partition, key, value, headers }], acks: -1 })
      await producer.close()
    },
    async openReader(_log, number, { from, onDamage }) {
      const { tail, openMainReader } = await openKafkaPartition(settings, number)
      const counted = from === 0 ? { counted: { position: 0, samples: 0 } } : {}
      const reader = openMainReader({ from, ...counted, ...(onDamage && { onDamage }) })
      return { reader, end: tail.position, pause: () => tail.waitBeyond(reader.position(), 20) }
    },
    target: `kafka://${broker}/${topic}`,
  }
}
