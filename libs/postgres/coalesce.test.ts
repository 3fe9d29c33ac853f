import { expect, test } from 'vitest'
import { ServiceError } from '#core/errors'
import { coalesce } from './coalesce.ts'

test('items of the same turn of the event loop share one call', async () => {
  const calls: (readonly number[])[] = []
  const double = coalesce(async (items: readonly number[]) => {
    calls.push(items)
    return (item: number) => 2 * item
  }, 3)
  expect(await Promise.all([1, 2, 3, 4].map(double))).toEqual([2, 4, 6, 8])
  expect(calls).toEqual([[1, 2, 3], [4]])
})

test('only the item that cannot be processed fails', async () => {
  const work = coalesce(async (items: readonly number[]) => {
    if (items.includes(7)) throw new Error('poison')
    return (item: number) => item
  }, 100)
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => work(index)))
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(results.map((_, index) => index !== 7))
})

test.each([
  ['while the database is unavailable', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })],
  ['when its owner has no connection free', new ServiceError(429, 'rate_limited', 'Retry later.')],
])('%s, the batch is not bisected', async (_, error) => {
  let calls = 0
  const work = coalesce(async () => {
    calls += 1
    throw error
  }, 100)
  const results = await Promise.allSettled([1, 2, 3, 4].map(work))
  expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  expect(calls).toBe(1)
})
