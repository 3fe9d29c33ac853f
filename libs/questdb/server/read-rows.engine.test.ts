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

test('ends when the caller disconnects', async () => {
  const caller = new AbortController()
  const reading = questdb.readRows('SELECT x FROM long_sequence(1000000000)', [], () => caller.abort(), {
    signal: caller.signal,
  })
  await expect(reading).rejects.toMatchObject({ status: 499 })
  expect(await one()).toEqual([[1]])
})

test('waits while the caller pauses, and lets the process do other work', async () => {
  const numbers: number[] = []
  let [pauses, isPaused, turns] = [0, false, 0]
  const count = () => {
    turns++
    if (numbers.length < 100_000) setImmediate(count)
  }
  setImmediate(count)
  const pause = async () => {
    pauses++
    isPaused = true
    await new Promise((resolve) => setTimeout(resolve, 1))
    isPaused = false
  }
  const readRow: ReadRow = (bytes, at) => {
    expect(isPaused).toBe(false)
    into(numbers)(bytes, at)
  }
  await questdb.readRows('SELECT x::int FROM long_sequence(100000)', [], readRow, { pause })
  expect(numbers).toEqual(Array.from({ length: 100_000 }, (_, index) => index + 1))
  // Parts have at most 64 KiB.
  expect(pauses).toBeGreaterThan(20)
  expect(turns).toBeGreaterThan(20)
  expect(await one()).toEqual([[1]])
})

test('waits for the pause after the last rows', async () => {
  let done = false
  const pause = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    done = true
  }
  await questdb.readRows('SELECT x FROM long_sequence(1)', [], () => {}, { pause })
  expect(done).toBe(true)
  expect(await one()).toEqual([[1]])
})

test.each([1, 1_000_000])('throws what a pause throws after %i rows, and closes the connection', async (count) => {
  const pause = () => Promise.reject(new RangeError('Not now.'))
  const reading = questdb.readRows(`SELECT x FROM long_sequence(${count})`, [], () => {}, { pause })
  await expect(reading).rejects.toThrow('Not now.')
  expect(await one()).toEqual([[1]])
})
