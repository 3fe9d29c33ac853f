import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'

const problem = await whyNoKafka()
const topic = 'kept'

describe('a Kafka broker', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let kafka: TestKafka
  const client = () => ({ clientId: 'test', bootstrapBrokers: [kafka.broker] })
  beforeAll(async () => {
    if (problem) return
    kafka = await startTestKafka()
  })
  afterAll(() => kafka?.stop())

  test('keeps acknowledged records over kill -9 and does not create unknown topics', async () => {
    const admin = new Admin(client())
    await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 })
    const producer = new Producer({ ...client(), idempotent: true })
    await producer.send({ messages: [{ topic, partition: 1, value: Buffer.from('before') }] })
    await Promise.all([producer.close(), admin.close()])
    await kafka.kill()
    await kafka.restart()

    const consumer = new Consumer({ ...client(), groupId: 'test' })
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', maxWaitTime: 100 })
    const { value } = await stream[Symbol.asyncIterator]().next()
    expect(value?.value.toString()).toBe('before')
    await consumer.close(true)

    const stranger = new Producer({ ...client(), retries: 0 })
    const unknown = { topic: 'nobody-made-this', value: Buffer.from('lost') }
    await expect(stranger.send({ messages: [unknown] })).rejects.toThrow()
    await stranger.close()
  }, 120_000)
})
