import { expect, test } from 'vitest'
import { filterInSlices, forEachInSlices, forEachPartInSlices, isSliceOver, mapInSlices, nextSlice } from '#core/slices'

/** Work that takes 0.5 ms. */
function work(): void {
  const endMs = performance.now() + 0.5
  while (performance.now() < endMs);
}

/** Counts turns of the event loop until `done` resolves. */
async function countTurns(done: Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  done.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    turns++
  }
  return turns
}

test('long work lets other work run after each slice', async () => {
  const items = Array.from({ length: 1_024 })
  // The clock is looked at every 16 items, which take 8 ms: each time, the slice is over.
  expect(await countTurns(forEachInSlices(items, work))).toBeGreaterThanOrEqual(40)
})

test('several long works together take one slice a turn', async () => {
  const items = Array.from({ length: 256 })
  const turns = await countTurns(Promise.all(Array.from({ length: 8 }, () => forEachInSlices(items, work))))
  expect(turns).toBeGreaterThanOrEqual(8 * 10)
})

test('many short works that wait go on in a few turns, in order', async () => {
  while (!isSliceOver()) work()
  const numbers = Array.from({ length: 100 }, (_, index) => index)
  const resumed: number[] = []
  const waited = Promise.all(numbers.map(async (number) => resumed.push(await nextSlice().then(() => number))))
  expect(await countTurns(waited)).toBeLessThan(20)
  expect(resumed).toEqual(numbers)
})

test('works that wait share the slice of a turn', async () => {
  while (!isSliceOver()) work()
  const waited = Promise.all(Array.from({ length: 100 }, () => nextSlice().then(work)))
  // Ten pieces of 0.5 ms fill a slice of 5 ms.
  expect(await countTurns(waited)).toBeGreaterThanOrEqual(5)
})

test('short work is done in one turn', async () => {
  await new Promise((resolve) => setImmediate(resolve))
  let turns = 0
  const timer = setImmediate(() => turns++)
  await forEachInSlices(Array.from({ length: 100 }), () => {})
  expect(turns).toBe(0)
  clearImmediate(timer)
})

test('results are in order', async () => {
  const numbers = Array.from({ length: 500 }, (_, index) => index)
  expect(await mapInSlices(numbers, (number) => number * 2)).toEqual(numbers.map((number) => number * 2))
  expect(await filterInSlices(numbers, (number) => number % 3 === 0)).toEqual(numbers.filter((n) => n % 3 === 0))
})

test('parts of long work are complete and in order, and other work runs between them', async () => {
  const items = Array.from({ length: 105 }, (_, index) => index)
  const parts: (readonly number[])[] = []
  const take = (part: readonly number[]) => {
    parts.push(part)
    for (const _ of part) work()
  }
  expect(await countTurns(forEachPartInSlices(items, 10, take))).toBeGreaterThanOrEqual(8)
  expect(parts.flat()).toEqual(items)
  expect(parts.map(({ length }) => length)).toEqual([...Array(10).fill(10), 5])
})
