import { expect, test } from 'vitest'
import { untilAnswering } from '#postgres/availability'
import { createTestDatabase } from '#test/database'
import { startingPostgres } from '#test/starting-postgres'

test('waits for a database that is starting up', async () => {
  const database = await createTestDatabase()
  const way = await startingPostgres(database.url)
  const answering = untilAnswering(way.url).then(() => 'answers')
  await expect.poll(way.refusals).toBeGreaterThan(1)
  way.comeUp()
  expect(await answering).toBe('answers')
  way.close()
  await database.drop()
})

test('does not wait for a password to become right', async () => {
  const database = await createTestDatabase()
  const url = new URL(database.url)
  url.password = 'wrong'
  await expect(untilAnswering(url.href)).rejects.toThrow(/password/)
  await database.drop()
})
