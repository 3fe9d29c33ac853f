import { describe, expect, test } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

/** Work that runs until the test ends it, by the names it was started under. */
function manualWork() {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      started.push(name)
      ends.set(name, () => resolve(name))
    })
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { started, work, end }
}

const limits = { maxRunning: 3, maxRunningPerOwner: 2, maxWaitingPerOwner: 5 }
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a fair queue', () => {
  test('leaves capacity for others, regardless of how much one owner requests', async () => {
    const queue = createFairQueue(limits)
    const { started, work } = manualWork()
    for (const name of ['a1', 'a2', 'a3', 'a4']) queue.run('a', work(name))
    queue.run('b', work('b1'))
    await settle()
    expect(started).toEqual(['a1', 'a2', 'b1'])
  })

  test('lets waiting owners take turns', async () => {
    const queue = createFairQueue({ ...limits, maxRunning: 1 })
    const { started, work, end } = manualWork()
    for (const name of ['a1', 'a2', 'a3']) queue.run('a', work(name))
    for (const name of ['b1', 'b2']) queue.run('b', work(name))
    await settle()
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) {
      expect(started.at(-1)).toBe(name)
      await end(name)
    }
  })

  test('gives one owner all capacity without a limit for each, and keeps its order', async () => {
    const queue = createFairQueue({ maxRunning: 2 })
    const { started, work, end } = manualWork()
    const noisy = ['a1', 'a2', 'a3', 'a4'].map((name) => queue.run('a', work(name)))
    const other = queue.run('b', work('b1'))
    await settle()
    expect(started).toEqual(['a1', 'a2'])
    await end('a1')
    await end('a2')
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3'])
    for (const name of ['b1', 'a3', 'a4']) await end(name)
    expect(await Promise.all([...noisy, other])).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
  })

  test('releases the capacity of work that failed', async () => {
    const queue = createFairQueue({ ...limits, maxRunning: 1 })
    await expect(queue.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await queue.run('a', async () => 'next')).toBe('next')
  })

  test('refuses only the owner with too many waiting requests, with 429', async () => {
    const queue = createFairQueue({ ...limits, maxRunning: 2 })
    const { work, end } = manualWork()
    for (let index = 0; index < 7; index++) queue.run('a', work(`a${index}`))
    await expect(queue.run('a', work('a7'))).rejects.toMatchObject({
      status: 429,
      code: 'too_many_reads',
      headers: { 'Retry-After': '2' },
    })
    const other = queue.run('b', async () => 'served')
    await end('a0')
    expect(await other).toBe('served')
  })

  test('does not start work whose caller has closed the connection', async () => {
    const queue = createFairQueue({ ...limits, maxRunning: 1 })
    const { started, work, end } = manualWork()
    queue.run('a', work('a1'))
    const caller = new AbortController()
    const waiting = queue.run('a', work('a2'), caller.signal)
    caller.abort()
    await expect(waiting).rejects.toMatchObject({ status: 499 })
    await expect(queue.run('a', work('a3'), caller.signal)).rejects.toMatchObject({ status: 499 })
    await end('a1')
    expect(await queue.run('a', async () => 'after')).toBe('after')
    expect(started).toEqual(['a1'])
  })

  test('rejects work that waits too long, and removes it from the queue', async () => {
    const queue = createFairQueue({ ...limits, maxRunning: 1, maxWaitMs: 20 })
    const { started, work, end } = manualWork()
    const first = queue.run('a', work('a1'))
    await expect(queue.run('a', work('a2'))).rejects.toMatchObject({ status: 429, code: 'too_many_reads' })
    await end('a1')
    expect(await first).toBe('a1')
    queue.run('b', work('b1'))
    await settle()
    expect(started).toEqual(['a1', 'b1'])
  })
})
