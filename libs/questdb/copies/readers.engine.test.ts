import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { questdbConnection } from '#test/questdb'
import { until } from '#test/until'
import { onlyCopy } from './copies.ts'
import { createReaders } from './readers.ts'

const maxConnections = 4
let questdb: QuestdbSql
let observer: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'readers.test', maxConnections })
  observer = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'readers.test', maxConnections: 1 })
})
afterAll(async () => {
  await questdb.end()
  await observer.end()
})

const shared = () => ({ current: () => onlyCopy(questdb) })

/** A statement that runs for minutes unless it is stopped; its number tells it from others. */
const endless = (number: number) =>
  `SELECT count() FROM long_sequence(100_000_000) a CROSS JOIN long_sequence(1_000) b WHERE a.x * b.x = -${number}`

async function running(number: number): Promise<number> {
  const rows = await observer.query<{ query: string }>('SELECT query FROM query_activity()')
  return rows.filter(({ query }) => query.endsWith(`= -${number}`)).length
}

test('QuestDB stops the query of a caller that has disconnected', async () => {
  const reader = new AbortController()
  const read = createReaders(shared(), maxConnections).of('a', reader.signal).questdb.query(endless(7_001))
  read.catch(() => {})
  await until('the query runs', async () => (await running(7_001)) === 1)
  reader.abort()
  await expect(read).rejects.toMatchObject({ status: 499, code: 'client_closed_request' })
  await until('the query has ended', async () => (await running(7_001)) === 0)
  expect(await questdb.query('SELECT 1 one')).toHaveLength(1)
})

test('an owner over its share leaves connections to others', async () => {
  const readers = createReaders(shared(), maxConnections)
  const caller = new AbortController()
  const greedy = readers.of('greedy', caller.signal)
  const slow = Array.from({ length: 12 }, () => greedy.questdb.query(endless(7_002)).catch(() => 'stopped'))
  await until('its share runs', async () => (await running(7_002)) > 0)
  expect(await readers.of('bystander').questdb.query('SELECT 1 one')).toHaveLength(1)
  expect(await running(7_002)).toBeLessThanOrEqual(maxConnections / 2)
  caller.abort()
  expect(new Set(await Promise.all(slow))).toEqual(new Set(['stopped']))
  await until('nothing of it runs any more', async () => (await running(7_002)) === 0)
})
