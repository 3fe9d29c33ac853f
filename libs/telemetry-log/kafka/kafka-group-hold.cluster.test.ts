import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { until } from '#test/until'
import { joinKafkaGroup } from './kafka-group.ts'
import { holdKafkaGroup } from './kafka-group-hold.ts'
import type { KafkaSettings } from './kafka-settings.ts'
import { ensureTopic } from './kafka-topic.ts'

const problem = await whyNoKafka()
const partitions = 4
const waitMs = 60_000

describe('holding a consumer group', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let kafka: TestKafka
  let settings: KafkaSettings
  beforeAll(async () => {
    if (problem) return
    kafka = await startTestKafka()
    settings = {
      brokers: [kafka.broker],
      topic: 'reports',
      partitions,
      retentionMs: 3_600_000,
      tls: undefined,
      sasl: undefined,
    }
    await ensureTopic(settings)
  }, 180_000)
  afterAll(() => kafka?.stop(), 60_000)

  /** Joins as a writer does. */
  function join(groupId: string) {
    const owned = new Set<number>()
    const { leave } = joinKafkaGroup({
      settings,
      groupId,
      onAssigned(gained) {
        for (const partition of gained) owned.add(partition)
      },
      async onRevoked(lost) {
        for (const partition of lost) owned.delete(partition)
      },
      onError() {},
    })
    return { owned, leave }
  }

  test('a writer that joins gets its partitions when the group is released', async () => {
    const held = await holdKafkaGroup({ settings, groupId: 'held', partitions, withinMs: 0, onWaiting: expect.fail })
    const writer = join('held')
    await expect(until('it gets a partition', async () => writer.owned.size > 0, 4_000)).rejects.toThrow('Timed out')
    held?.throwIfLost()
    await held?.release()
    await until('it gets all partitions', async () => writer.owned.size === partitions, waitMs)
    await writer.leave()
  }, 120_000)

  test('a holder that does not finish in time loses the group', async () => {
    const held = await holdKafkaGroup({ settings, groupId: 'slow', partitions, withinMs: 0, onWaiting: expect.fail })
    const writer = join('slow')
    await until('it gets a partition', async () => writer.owned.size > 0, waitMs)
    expect(held?.throwIfLost).toThrow('A writer has joined the group.')
    await held?.release()
    await writer.leave()
  }, 120_000)

  test('a group with a member is not joined', async () => {
    const writer = join('used')
    await until('it gets all partitions', async () => writer.owned.size === partitions, waitMs)
    let waits = 0
    const onWaiting = () => {
      waits += 1
    }
    expect(await holdKafkaGroup({ settings, groupId: 'used', partitions, withinMs: 1_000, onWaiting })).toBeUndefined()
    expect(waits).toBe(1)
    expect(writer.owned.size).toBe(partitions)
    await writer.leave()
  }, 120_000)
})
