import { expect, test } from 'vitest'
import { createFairLine } from './fair-line.ts'

/** Work that ends when it is told to. */
function createWork() {
  const begun: string[] = []
  const end = new Map<string, () => void>()
  const work = (name: string) => () => {
    begun.push(name)
    return new Promise<string>((resolve) => end.set(name, () => resolve(name)))
  }
  return { begun, work, end: (name: string) => end.get(name)?.() }
}

test('runs a limited number at once, and waiting devices take turns', async () => {
  const { begun, work, end } = createWork()
  const line = createFairLine(2)
  const noisy = ['n1', 'n2', 'n3', 'n4'].map((name) => line.run('noisy', work(name)))
  const other = line.run('quiet', work('q1'))
  expect([begun, line.waiting()]).toEqual([['n1', 'n2'], 3])
  end('n1')
  expect(await noisy[0]).toBe('n1')
  end('n2')
  await noisy[1]
  expect([begun, line.waiting()]).toEqual([['n1', 'n2', 'n3', 'q1'], 1])
  for (const name of ['q1', 'n3']) end(name)
  await Promise.all([other, noisy[2]])
  end('n4')
  expect(await noisy[3]).toBe('n4')
})

test('work that fails rejects only for its caller and starts the next', async () => {
  const line = createFairLine(1)
  const failing = line.run('a', () => Promise.reject(new Error('bad')))
  const next = line.run('a', async () => 'good')
  await expect(failing).rejects.toThrow('bad')
  expect(await next).toBe('good')
})
