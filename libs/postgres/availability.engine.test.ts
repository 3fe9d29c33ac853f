import { expect, test } from 'vitest'
import { createTestDatabase } from '#test/database'
import { startingPostgres } from '#test/starting-postgres'
import { waitUntilAvailable } from './availability.ts'

test('waits for a database that is starting', async () => {
  const database = await createTestDatabase()
  const way = await startingPostgres(database.url)
  const answering = waitUntilAvailable(way.url).then(() => 'answers')
  await expect.poll(way.refusals).toBeGreaterThan(1)
  way.comeUp()
  expect(await answering).toBe('answers')
  way.close()
  await database.drop()
})

test('does not wait when the password is wrong', async () => {
  const database = await createTestDatabase()
  const url = new URL(database.url)
  url.password = 'wrong'
  await expect(waitUntilAvailable(url.href)).rejects.toThrow(/password/)
  await database.drop()
})
