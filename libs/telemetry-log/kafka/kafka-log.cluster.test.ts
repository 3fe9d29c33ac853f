import { Producer } from '@platformatic/kafka'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LogFullError, type LoggedBatch, type TelemetryBatch } from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { until } from '#test/until'
import { type KafkaLog, openKafkaLog } from './kafka-log.ts'
import { openKafkaPartition } from './kafka-partition.ts'
import type { KafkaDamage } from './kafka-reader.ts'
import type { KafkaSettings } from './kafka-settings.ts'

const problem = await whyNoKafka()
const partitions = 3
const waitMs = 60_000

describe('the telemetry log on Kafka', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let kafka: TestKafka
  let topics = 0
  beforeAll(async () => {
    if (problem) return
    kafka = await startTestKafka()
  }, 120_000)
  afterAll(() => kafka?.stop())

  const newSettings = (): KafkaSettings => ({
    brokers: [kafka.broker],
    topic: `reports-${topics++}`,
    partitions,
    retentionMs: 3_600_000,
    tls: undefined,
    sasl: undefined,
  })

  const deviceOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`
  const batch = (device: number, text: string, sampleCount = 1): TelemetryBatch => ({
    deviceId: deviceOf(device),
    organizationId: '01890000-0000-7000-8000-0000000000bb',
    deviceClass: 'ship',
    receivedAtMs: 1_760_000_000_123,
    oldestTsMs: 1_750_000_000_000,
    format: 'ndjson',
    sampleCount,
    body: Buffer.from(text),
  })

  /** Reads a partition to its present end. */
  async function readAll(settings: KafkaSettings, partition: number) {
    const { tail, openMainReader } = await openKafkaPartition(settings, partition)
    const damages: KafkaDamage[] = []
    const counted = { position: 0, samples: 0 }
    const reader = openMainReader({ from: 0, counted, onDamage: (damage) => damages.push(damage) })
    const found: LoggedBatch[] = []
    await until(
      'the partition is read',
      async () => {
        found.push(...reader.read(tail.position(), 100_000))
        return reader.position() >= tail.position()
      },
      waitMs,
    )
    reader.close()
    return { batches: found, damages }
  }

  async function readTopic(settings: KafkaSettings): Promise<LoggedBatch[]> {
    const all: LoggedBatch[] = []
    for (let partition = 0; partition < partitions; partition++) {
      const { batches, damages } = await readAll(settings, partition)
      expect(damages).toEqual([])
      all.push(...batches)
    }
    return all
  }

  /** Repeats an append until it is acknowledged. */
  async function untilAccepted(log: KafkaLog, report: TelemetryBatch): Promise<void> {
    const outcome = () =>
      log.append(report).then(
        () => undefined,
        (error: unknown) => error,
      )
    for (let refusal = await outcome(); refusal !== undefined; refusal = await outcome()) {
      expect(refusal).toBeInstanceOf(LogFullError)
    }
  }

  test('a log prepares itself for its first report when the brokers respond', async () => {
    const settings = newSettings()
    const lost = openKafkaLog({ ...settings, brokers: ['127.0.0.1:9'] })
    const log = openKafkaLog(settings)
    expect(log.isPrepared()).toBe(false)
    await until('the log is prepared', async () => log.isPrepared())
    await log.append(batch(1, 'first'))
    expect(lost.isPrepared()).toBe(false)
    await Promise.all([log.close(), lost.close()])
  }, 120_000)

  test('a reader returns limited bytes at once from a small buffer, follows the log, and seeks back and forth', async () => {
    const settings = newSettings()
    const log = openKafkaLog(settings)
    const body = 'y'.repeat(100_000)
    for (let index = 0; index < 100; index++) await log.append(batch(1, `${index}:${body}`))
    const { tail, openMainReader } = await openKafkaPartition(settings, partitionOf(deviceOf(1), partitions))
    const reader = openMainReader({ from: 0, maxBufferedBytes: 500_000 })
    const numbersTo = async (position: number) => {
      const found: number[] = []
      await until(`the log is read to ${position}`, async () => {
        const chunk = reader.read(position, 150_000)
        expect(chunk.length).toBeLessThanOrEqual(2)
        found.push(...chunk.map((one) => Number(one.body.toString().split(':')[0])))
        await tail.waitBeyond(reader.position(), 10)
        return reader.position() >= position
      })
      return found
    }
    const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
    expect(await numbersTo(100)).toEqual(upTo(0, 100))
    await log.append(batch(1, `100:${body}`))
    expect(await numbersTo(101)).toEqual([100])
    reader.seek(37)
    expect(await numbersTo(60)).toEqual(upTo(37, 60))
    reader.seek(61)
    expect(await numbersTo(70)).toEqual(upTo(61, 70))
    reader.close()
    await log.close()
  }, 120_000)

  test('readers of one partition read all of it in order while one of them reads ahead', async () => {
    const settings = newSettings()
    const log = openKafkaLog(settings)
    const reports = 60
    const body = 'x'.repeat(50_000)
    for (let index = 0; index < reports; index++) await log.append(batch(1, `${index}:${body}`))
    const partition = await openKafkaPartition(settings, partitionOf(deviceOf(1), partitions))
    const main = partition.openMainReader({ from: 0, maxBufferedBytes: 500_000 })
    const ahead = partition.openReader({ from: 0, maxBufferedBytes: 500_000 })
    const numbersOf = (batches: LoggedBatch[]) => batches.map((one) => Number(one.body.toString().split(':')[0]))
    const found: Record<'main' | 'ahead', number[]> = { main: [], ahead: [] }
    await until('both have read the partition', async () => {
      found.ahead.push(...numbersOf(ahead.read(reports, 150_000)))
      found.main.push(...numbersOf(main.read(reports, 50_000)))
      return main.position() >= reports && ahead.position() >= reports
    })
    const all = Array.from({ length: reports }, (_, index) => index)
    expect(found).toEqual({ main: all, ahead: all })
    main.close()
    ahead.close()
    await log.close()
  }, 120_000)

  test('a record that is not a report is skipped, reported with its bytes, and its samples count as lost', async () => {
    const settings = newSettings()
    const log = openKafkaLog(settings)
    const partition = partitionOf(deviceOf(1), partitions)
    await log.append(batch(1, 'before', 2))
    const stranger = new Producer({ clientId: 'test', bootstrapBrokers: settings.brokers })
    const headers = new Map([[Buffer.from('samples'), Buffer.from('5')]])
    const value = Buffer.from('not a frame')
    await stranger.send({ messages: [{ topic: settings.topic, partition, value, headers }], acks: -1 })
    await stranger.close()
    await log.append(batch(1, 'after'))
    await log.close()
    const { batches, damages } = await readAll(settings, partition)
    expect(batches.map(({ firstSample, position }) => [firstSample, position])).toEqual([
      [0, 0],
      [7, 2],
    ])
    expect(damages).toEqual([{ from: 1, to: 2, bytes: value }])
  }, 120_000)

  test('every acknowledged report is read back, in order, after repeated kill -9 of the broker', async () => {
    const settings = newSettings()
    const failures: unknown[] = []
    const log = openKafkaLog(settings, { onFailure: (error) => failures.push(error) })
    await log.append(batch(0, 'start'))
    const acknowledged: string[] = []
    let isStopping = false
    const append = async (device: number) => {
      for (let index = 0; !isStopping; index++) {
        const text = `${device}:${index}:${'z'.repeat((index * 131) % 3_000)}`
        await untilAccepted(log, batch(device, text))
        acknowledged.push(text)
      }
    }
    const appending = Array.from({ length: 8 }, (_, device) => append(device))
    for (let life = 0; life < 3; life++) {
      const before = acknowledged.length
      await until('reports are acknowledged', async () => acknowledged.length > before + 200, waitMs)
      await kafka.kill()
      const failedBefore = failures.length
      await until('appends are refused', async () => failures.length > failedBefore, waitMs)
      await kafka.restart()
    }
    const before = acknowledged.length
    await until('reports are acknowledged again', async () => acknowledged.length > before + 200, waitMs)
    isStopping = true
    await Promise.all(appending)
    await log.close()
    const found = await readTopic(settings)
    const kept = new Set(found.map(({ body }) => body.toString()))
    expect(acknowledged.filter((text) => !kept.has(text)).map((text) => text.slice(0, 10))).toEqual([])
    // Copies come from retries of a group, so the first copy of each report is in order.
    for (let device = 0; device < 8; device++) {
      const texts = new Set(
        found.filter(({ deviceId }) => deviceId === deviceOf(device)).map(({ body }) => body.toString()),
      )
      const numbers = [...texts].filter((text) => text !== 'start').map((text) => Number(text.split(':')[1]))
      expect(numbers).toEqual(numbers.map((_, index) => index))
    }
  }, 240_000)

  test('without a broker appends are refused within limits, and succeed when it is back', async () => {
    const settings = newSettings()
    await kafka.kill()
    const log = openKafkaLog(settings, { maxWaitingReports: 50 })
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => log.append(batch(1, 'refused'))))
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(LogFullError) })
    expect(log.queue()).toEqual({ bytes: 0, reports: 0, isFull: false })
    await kafka.restart()
    await untilAccepted(log, batch(1, 'accepted'))
    await log.close()
    const texts = (await readTopic(settings)).map(({ body }) => body.toString())
    expect(texts).toContain('accepted')
  }, 240_000)
})
