import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQueueBackend } from '#queue/backend'
import { openJobQueues } from '#queue/job-queues'
import { jobReferenceSchema, type QueueName } from '#queue/references'
import { hasRedis, startRedis } from '#test/redis'
import { startQueueWorkers } from './queue-workers.ts'

const problem = (await hasRedis()) ? undefined : 'redis-server is not on the PATH'

// BullMQ asks for the version of Redis once. A worker without an answer takes nothing until the process ends.
test('a worker that takes nothing while an entry waits is replaced until one takes it', async ({
  skip,
  onTestFinished,
}) => {
  skip(problem !== undefined, problem)
  const redis = await startRedis()
  onTestFinished(redis.stop)
  await redis.call('ACL', 'SETUSER', 'default', '-info')
  const backend = openQueueBackend({ postgresUrl: '', redisUrl: redis.url }, () => {})
  onTestFinished(backend.close)
  const queues = await openJobQueues(backend)
  const registry = new Registry()
  const taken: unknown[] = []
  const replaced: QueueName[] = []
  const workers = await startQueueWorkers({
    backend,
    table: [
      {
        queue: 'dispatch',
        schema: jobReferenceSchema,
        concurrency: 1,
        process: async (reference) => void taken.push(reference),
      },
    ],
    waiting: queues.waiting,
    registry,
    tracing: undefined,
    onError: () => {},
    onReplaced: (queue) => replaced.push(queue),
    checkMs: 50,
  })
  const reference = { jobId: newId(), attempt: 1 }
  const first = { jobId: newId(), attempt: 2 }
  await expect.poll(() => queues.add('dispatch', [{ reference, delayMs: 0, priority: 1 }])).toBeUndefined()
  // An entry that another worker took over has no priority either.
  await queues.add('dispatch', [{ reference: first, delayMs: 0, priority: 0 }])

  await expect.poll(() => replaced).toContain('dispatch')
  expect(taken).toEqual([])
  expect(await queues.depths()).toEqual(
    expect.arrayContaining([
      { queue: 'dispatch', state: 'prioritized', count: 1 },
      { queue: 'dispatch', state: 'wait', count: 1 },
    ]),
  )
  await redis.call('ACL', 'SETUSER', 'default', '+info')
  await expect.poll(() => taken).toEqual([first, reference])

  expect(await registry.metrics()).toMatch(/^queue_workers_replaced_total{queue="dispatch"} [1-9]/m)
  await workers.stop()
  await queues.close()
})
