import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSliceOver } from '#core/slices'
import { jsonChunks, lazily } from './json-chunks.ts'

const textOf = async (value: unknown): Promise<string> =>
  Buffer.concat(await Array.fromAsync(jsonChunks(value))).toString()

test('is the same text as JSON.stringify makes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect(await textOf(value)).toBe(JSON.stringify(value))
    }),
  )
})

test('omits values that JSON does not have', async () => {
  const value = { a: undefined, at: new Date(0), list: [undefined, 1], empty: {}, none: [], f: () => 1 }
  expect(await textOf(value)).toBe(JSON.stringify(value))
})

test('writes long and lazy lists completely, in chunks', async () => {
  for (const length of [0, 1, 63, 64, 65, 128, 20_000]) {
    const numbers = Array.from({ length }, (_, index) => index)
    const items = numbers.map((index) => ({ index }))
    const chunks = await Array.fromAsync(jsonChunks({ items: lazily(numbers, (index) => ({ index })), next: null }))
    expect(Buffer.concat(chunks).toString()).toBe(JSON.stringify({ items, next: null }))
    for (const chunk of chunks) expect(chunk.length).toBeLessThan(100_000)
  }
})

test('lets other work run while it writes a large value', async () => {
  const items = Array.from({ length: 200_000 }, (_, index) => ({ index, name: `item ${index}` }))
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await textOf({ items })
  isDone = true
  expect(turns).toBeGreaterThan(5)
})

test('writes a short value at once while long work of others takes its turns', async () => {
  while (!isSliceOver());
  let turns = 0
  const turn = setImmediate(() => turns++)
  await textOf({ status: 'ok', checks: { database: 'ok', queue: 'ok' } })
  expect(turns).toBe(0)
  clearImmediate(turn)
})
