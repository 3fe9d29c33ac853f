import { describe, expect, test } from 'vitest'
import { badRequest } from '#core/errors'
import { createRevisions } from '#fleet-map/revisions'
import { createSharedLists } from '#fleet-map/shared-lists'

const maxBytes = 20_000

/** Lists of words whose making takes as long as the test says, on a clock of its own. */
function wordLists() {
  let nowMs = 1_000_000
  const makings: { signal: AbortSignal; finish(words: string[], tookMs?: number): void; fail(error?: Error): void }[] =
    []
  const lists = createSharedLists<string, null, string>({
    clock: () => nowMs,
    revisions: createRevisions(),
    longestLifeMs: 25_000,
    maxBytes,
    itemBytes: 100,
    keyOf: (request) => request,
    identify: (word) => word.slice(0, 1),
    contentOf: (word) => word,
    make: (_request, signal) =>
      new Promise((resolve, reject) => {
        makings.push({
          signal,
          finish: (items, tookMs = 0) => {
            nowMs += tookMs
            resolve({ facts: null, items })
          },
          fail: (error = new Error('away')) => reject(error),
        })
      }),
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { lists, makings, pass }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a shared list', () => {
  test('is made once for concurrent callers, and returned while it is fresh', async () => {
    const { lists, makings, pass } = wordLists()
    const asked = [lists.read('a'), lists.read('a')]
    makings[0]?.finish(['one'], 100)
    expect((await Promise.all(asked)).map(({ entries }) => entries.length)).toEqual([1, 1])
    pass(1_500)
    await lists.read('a')
    expect(makings).toHaveLength(1)
  })

  test('is returned once more while the next list is made, which marks its changes', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one', 'two'], 500)
    const before = await first
    pass(12_000)
    expect(await lists.read('a')).toBe(before)
    await settle()
    expect(makings).toHaveLength(2)
    makings[1]?.finish(['one', 'three'], 100)
    await settle()
    const { entries } = await lists.read('a')
    expect(entries.map(({ item, isGone }) => [item, isGone])).toEqual([
      ['one', false],
      ['three', false],
    ])
    expect(entries[0]?.revision).toBe(before.entries[0]?.revision)
    expect(entries[1]?.revision).toBeGreaterThan(before.entries[1]?.revision ?? Infinity)
  })

  test('that takes long to make is renewed early, so that a frequent reader does not wait', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one'], 1_200)
    let shown = await first
    for (let making = 1; making <= 3; making++) {
      for (let beganMs = 0; makings.length === making; beganMs += 2_500) {
        expect(beganMs).toBeLessThan(20_000)
        pass(2_500)
        expect(await lists.read('a')).toBe(shown)
        await settle()
      }
      makings[making]?.finish(['one'], 1_200)
      await settle()
      shown = await lists.read('a')
    }
  })

  test('that takes very long to make lives longer, so that it is not made all the time', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one'], 6_000)
    const shown = await first
    pass(90_000)
    expect(await lists.read('a')).toBe(shown)
    expect(makings).toHaveLength(1)
    pass(20_000)
    expect(await lists.read('a')).toBe(shown)
    expect(makings).toHaveLength(2)
    pass(5_000)
    const next = lists.read('a')
    makings[1]?.finish(['two'], 6_000)
    expect((await next).entries.map(({ item }) => item)).toContain('two')
  })

  test('is awaited when it is made quickly', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one'], 20)
    await first
    pass(1_001)
    const second = lists.read('a')
    await settle()
    makings[1]?.finish(['two'])
    expect((await second).entries.map(({ item }) => item)).toContain('two')
  })

  test('is awaited when the previous list is too old', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one'], 500)
    await first
    pass(26_000)
    const second = lists.read('a')
    await settle()
    makings[1]?.finish([])
    expect((await second).entries).toMatchObject([{ item: 'one', isGone: true }])
  })

  test('remains after a failed renewal, and the next reader retries', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    makings[0]?.finish(['one'], 500)
    const before = await first
    pass(12_000)
    await lists.read('a')
    await settle()
    makings[1]?.fail()
    await settle()
    expect(await lists.read('a')).toBe(before)
    await settle()
    expect(makings).toHaveLength(3)
  })

  test('that could not be made throws the error, and the next reader retries', async () => {
    const { lists, makings } = wordLists()
    const first = lists.read('a')
    makings[0]?.fail()
    await expect(first).rejects.toThrow('away')
    const second = lists.read('a')
    makings[1]?.finish(['one'])
    expect((await second).entries).toHaveLength(1)
  })

  test('that was refused is refused again at once, for as long as it would have lived', async () => {
    const { lists, makings, pass } = wordLists()
    const first = lists.read('a')
    pass(2_000)
    makings[0]?.fail(badRequest('too many'))
    await expect(first).rejects.toThrow('too many')
    pass(37_000)
    await expect(lists.read('a')).rejects.toThrow('too many')
    expect(makings).toHaveLength(1)
    pass(2_000)
    const retried = lists.read('a')
    makings[1]?.finish(['one'])
    expect((await retried).entries).toHaveLength(1)
  })

  test('is cached within a limit of bytes for any number of different requests', async () => {
    const { lists, makings } = wordLists()
    for (let index = 0; index < 100; index++) {
      const read = lists.read(`request ${index}`)
      makings[index]?.finish(['one', 'two', 'three'])
      expect((await read).entries).toHaveLength(3)
      expect(lists.keptBytes()).toBeLessThanOrEqual(maxBytes)
    }
    expect(lists.keptBytes()).toBeGreaterThan(maxBytes / 2)
    // The first request was forgotten long ago, the last was not.
    await lists.read('request 99')
    expect(makings).toHaveLength(100)
    lists.read('request 0')
    expect(makings).toHaveLength(101)
  })

  test('larger than the limit is returned but not cached', async () => {
    const { lists, makings } = wordLists()
    const read = lists.read('a')
    makings[0]?.finish(Array.from({ length: 1_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)))
    expect((await read).entries).toHaveLength(1_000)
    expect(lists.keptBytes()).toBe(0)
  })

  test('is aborted when all callers have disconnected', async () => {
    const { lists, makings } = wordLists()
    const [one, two] = [new AbortController(), new AbortController()]
    const reads = [lists.read('a', one.signal), lists.read('a', two.signal)]
    one.abort()
    await expect(reads[0]).rejects.toMatchObject({ status: 499 })
    expect(makings[0]?.signal.aborted).toBe(false)
    two.abort()
    await expect(reads[1]).rejects.toMatchObject({ status: 499 })
    expect(makings[0]?.signal.aborted).toBe(true)
    const next = lists.read('a')
    makings[1]?.finish(['one'])
    expect((await next).entries).toHaveLength(1)
  })
})
