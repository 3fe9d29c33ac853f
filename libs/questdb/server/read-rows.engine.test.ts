import { afterAll, beforeAll, expect, test } from 'vitest'
import { questdbConnection } from '#test/questdb'
import type { ReadRow } from './row-filter.ts'
import { openQuestdbSql, type QuestdbRows } from './sql.ts'

let questdb: QuestdbRows
beforeAll(() => {
  // One connection, which each statement must leave in order for the next one.
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'read-rows.test', maxConnections: 1 })
})
afterAll(() => questdb.end())

const one = () => questdb.queryArrays<[number]>('SELECT x::int FROM long_sequence(1)')
/** Reads an integer of 32 bits from the first column. */
const into =
  (numbers: number[]): ReadRow =>
  (bytes, at) =>
    numbers.push(bytes.readInt32BE(at + 4))

test('reads each row once and in order, more than the connection holds at a time', async () => {
  const numbers: number[] = []
  await questdb.readRows('SELECT x::int, $1 FROM long_sequence(100000)', ['text'], into(numbers))
  expect(numbers).toEqual(Array.from({ length: 100_000 }, (_, index) => index + 1))
  expect(await one()).toEqual([[1]])
})

test('gives longs, text and nulls in binary', async () => {
  const rows: unknown[] = []
  await questdb.readRows("SELECT -5::long, 'wwan0', null::symbol FROM long_sequence(1)", [], (bytes, at) => {
    rows.push(bytes.readBigInt64BE(at + 4), bytes.toString('utf8', at + 16, at + 21), bytes.readInt32BE(at + 21))
  })
  expect(rows).toEqual([-5n, 'wwan0', -1])
})

test('rejects a statement that is wrong, and reads the next one', async () => {
  await expect(questdb.readRows('SELECT nothing FROM nowhere', [], () => {})).rejects.toThrow('nowhere')
  expect(await one()).toEqual([[1]])
})

test('throws what the reader throws, and closes the connection', async () => {
  const reading = questdb.readRows('SELECT x FROM long_sequence(1000000)', [], () => {
    throw new RangeError('Not this row.')
  })
  await expect(reading).rejects.toThrow('Not this row.')
  expect(await one()).toEqual([[1]])
})
