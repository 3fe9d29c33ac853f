import { expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { hasRedis, startRedis } from '#test/redis'
import { startingPostgres } from '#test/starting-postgres'
import { openQueueBackend } from './backend.ts'

// A BullMQ worker whose first connection is refused in this way remembers the refusal and would ask again without pause.
test('while Postgres is starting, opening rejects; later the same backend opens both', async () => {
  const database = await createTestDatabase()
  const way = await startingPostgres(database.url)
  const backend = openQueueBackend({ postgresUrl: way.url }, () => {})
  const taken: unknown[] = []
  const openWorker = () => backend.openWorker('dispatch', async (data) => void taken.push(data), { concurrency: 1 })

  await expect(openWorker()).rejects.toThrow('starting up')
  await expect(backend.openQueue('dispatch')).rejects.toThrow('starting up')
  way.comeUp()
  const worker = await openWorker()
  const queue = await backend.openQueue('dispatch')
  await queue.addBulk([{ name: 'dispatch', data: { jobId: 'a', attempt: 1 }, opts: {} }])
  await expect.poll(() => taken).toEqual([{ jobId: 'a', attempt: 1 }])

  await worker.close()
  await queue.close()
  await backend.close()
  way.close()
  await database.drop()
})

// An error of a connection without a listener ends the process, and fails this run.
test('connections that are lost in the moment they are open do not end the process', async () => {
  const database = await createTestDatabase()
  const way = await startingPostgres(database.url)
  way.comeUp()
  const backend = openQueueBackend({ postgresUrl: way.url }, () => {})
  // Without repeats: an entry whose end is lost with its connection is taken again.
  const taken = new Set<unknown>()
  const queue = await backend.openQueue('dispatch')
  const worker = await backend.openWorker(
    'dispatch',
    async (data) => void taken.add((data as { jobId: string }).jobId),
    { concurrency: 1 },
  )

  await queue.addBulk([{ name: 'dispatch', data: { jobId: 'before', attempt: 1 }, opts: {} }])
  await expect.poll(() => [...taken]).toEqual(['before'])

  // A worker takes entries before it listens.
  await expect.poll(way.listeners).toBeGreaterThan(0)
  way.loseConnections()
  await expect.poll(way.losses).toBeGreaterThan(1)
  way.comeUp()
  await queue.addBulk([{ name: 'dispatch', data: { jobId: 'a', attempt: 1 }, opts: {} }])
  await expect.poll(() => [...taken]).toEqual(['before', 'a'])

  await worker.close()
  await queue.close()
  await backend.close()
  way.close()
  await database.drop()
})

test('a backend that still connects to Redis does not say that the queues were emptied', async ({ skip }) => {
  skip(!(await hasRedis()), 'redis-server is not installed')
  const redis = await startRedis()
  const backend = openQueueBackend({ postgresUrl: '', redisUrl: redis.url }, () => {})

  expect(await backend.wasEmptied()).toBe(false)
  await expect.poll(backend.wasEmptied).toBe(true)
  await backend.mark()
  expect(await backend.wasEmptied()).toBe(false)

  await backend.close()
  await redis.stop()
})
