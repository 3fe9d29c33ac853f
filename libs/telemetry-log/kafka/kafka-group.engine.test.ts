import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { until } from '#test/until'
import { joinKafkaGroup, type KafkaGroup } from './kafka-group.ts'
import { ensureTopic } from './kafka-topic.ts'

const problem = await whyNoKafka()
/** Far longer than the test waits for the partitions. */
const sessionTimeoutMs = 5 * 60_000
const waitMs = 60_000

/** A member in a thread. Without `#` imports in its own code, because it is not a file. */
const memberCode = (module: string) => `
  const { parentPort, workerData } = require('node:worker_threads')
  import(${JSON.stringify(module)}).then(({ joinKafkaGroup }) =>
    joinKafkaGroup({
      ...workerData,
      onAssigned: (partitions) => parentPort.postMessage(partitions),
      onRevoked: async () => {},
      onError: (error) => { throw error },
    }))`

describe('a consumer group with names of members', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let kafka: TestKafka
  let group: KafkaGroup | undefined
  beforeAll(async () => {
    if (!problem) kafka = await startTestKafka()
  }, 180_000)
  afterAll(async () => {
    await group?.leave()
    await kafka?.stop()
  }, 60_000)

  test('a killed member that joins again gets its partitions back before its session ends', async () => {
    const settings = {
      brokers: [kafka.broker],
      topic: 'reports',
      partitions: 3,
      retentionMs: 3_600_000,
      tls: undefined,
      sasl: undefined,
    }
    await ensureTopic(settings)
    const member = { settings, groupId: 'writers', memberName: 'writer-1', sessionTimeoutMs }
    const module = new URL('./kafka-group.ts', import.meta.url).href
    const thread = new Worker(memberCode(module), { eval: true, workerData: member })
    const [partitions] = await once(thread, 'message')
    expect(partitions).toEqual([0, 1, 2])
    // Its connections close, and it does not leave the group.
    await thread.terminate()
    let gained: readonly number[] = []
    group = joinKafkaGroup({
      ...member,
      onAssigned: (some) => {
        gained = [...gained, ...some]
      },
      onRevoked: async () => {},
      onError: () => {},
    })
    await until('the partitions are assigned', async () => gained.length === 3, waitMs)
    // A commit proves that the broker knows this member as the owner.
    await group.commit(0, { offset: 1, metadata: '' })
    expect(await group.committed(0)).toEqual({ offset: 1, metadata: '' })
  }, 120_000)
})
