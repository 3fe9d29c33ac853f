import { expect, test } from 'vitest'
import { openQueueBackend } from '#queue/backend'
import { createTestDatabase } from '#test/database'
import { startingPostgres } from '#test/starting-postgres'

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
