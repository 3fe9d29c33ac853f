import { expect, test } from 'vitest'
import { resolvesWithin } from '#core/schedule'
import { createSharedTailMemory, openSharedTail } from './shared-tail.ts'

const longMs = 60_000
const shortMs = 50

test('a wait ends when the tail passes the position, and not before', async () => {
  const tail = openSharedTail(createSharedTailMemory())
  const waiting = tail.waitBeyond(100, longMs)
  tail.publish(100)
  expect(await resolvesWithin(waiting, shortMs)).toBe(false)
  tail.publish(101)
  expect(await resolvesWithin(waiting, longMs)).toBe(true)
  expect(await resolvesWithin(tail.waitBeyond(100, longMs), longMs)).toBe(true)
})

test('a wait ends early when it is woken', async () => {
  const tail = openSharedTail(createSharedTailMemory())
  const waiting = tail.waitBeyond(100, longMs)
  tail.wake()
  expect(await resolvesWithin(waiting, longMs)).toBe(true)
  expect(tail.position()).toBe(0)
})
