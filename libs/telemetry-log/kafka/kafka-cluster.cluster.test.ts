import { Admin, ConfigResourceTypes } from '@platformatic/kafka'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestKafkaCluster, whyNoKafka } from '#test/kafka'
import { until } from '#test/until'
import { openKafkaLog } from './kafka-log.ts'
import { openKafkaPartition } from './kafka-partition.ts'

const problem = await whyNoKafka()
const waitMs = 90_000
const deviceOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`

describe('the telemetry log on three brokers', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let cluster: Awaited<ReturnType<typeof startTestKafkaCluster>>
  beforeAll(async () => {
    if (problem) return
    cluster = await startTestKafkaCluster(3)
  }, 180_000)
  afterAll(() => cluster?.stop(), 60_000)

  test('appends continue after kill -9 of one broker, and every acknowledged report is read back', async () => {
    const { brokers } = cluster
    const settings = {
      brokers: brokers.map(({ broker }) => broker),
      topic: 'reports',
      partitions: 6,
      retentionMs: 3_600_000,
      tls: undefined,
      sasl: undefined,
    }
    const log = openKafkaLog(settings)
    const acknowledged: string[] = []
    let isStopping = false
    const isAccepted = (device: number, text: string) =>
      log
        .append({
          deviceId: deviceOf(device),
          organizationId: deviceOf(0),
          deviceClass: 'fixed',
          receivedAtMs: 1_760_000_000_123,
          oldestTsMs: 1_750_000_000_000,
          format: 'json',
          sampleCount: 1,
          body: Buffer.from(text),
        })
        .then(
          () => true,
          () => false,
        )
    const appending = Array.from({ length: 12 }, async (_, device) => {
      for (let index = 0; !isStopping; index++) {
        const text = `${device}:${index}`
        await until('a report is acknowledged', () => isAccepted(device, text), waitMs)
        acknowledged.push(text)
      }
    })
    const afterMore = async (count: number) => {
      const before = acknowledged.length
      await until('more is acknowledged', async () => acknowledged.length > before + count, waitMs)
    }
    await afterMore(300)
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: settings.brokers })
    const { topics } = await admin.metadata({ topics: [settings.topic] })
    const replicas = topics.get(settings.topic)?.partitions.map((partition) => partition.replicas.length)
    expect(replicas).toEqual([3, 3, 3, 3, 3, 3])
    const resources = [
      {
        resourceType: ConfigResourceTypes.TOPIC,
        resourceName: settings.topic,
        configurationKeys: ['min.insync.replicas'],
      },
    ]
    const descriptions = await admin.describeConfigs({ resources })
    expect(descriptions[0]?.configs[0]?.value).toBe('2')
    await admin.close()

    // The first one is the client's first choice for a connection.
    await brokers[0]?.kill()
    await afterMore(300)
    isStopping = true
    await Promise.all(appending)
    await log.close()

    const kept = new Set<string>()
    for (let partition = 0; partition < settings.partitions; partition++) {
      const { tail, openMainReader } = await openKafkaPartition(settings, partition)
      const reader = openMainReader({ from: 0 })
      await until(
        'the partition is read',
        async () => {
          for (const { body } of reader.read(tail.position(), 100_000)) kept.add(body.toString())
          return reader.position() >= tail.position()
        },
        waitMs,
      )
      reader.close()
    }
    expect(acknowledged.filter((text) => !kept.has(text))).toEqual([])
  }, 400_000)
})
