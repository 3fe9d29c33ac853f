import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createByteStore } from '#core/byte-store'

const content = (length: number, seed: number) => Buffer.alloc(length, seed % 256)

/** `free`: which of the present records to free, if any; otherwise stores one of this length. */
const steps = fc.array(
  fc.record({
    length: fc.oneof(fc.nat(200), fc.nat(5_000), fc.nat(400_000)),
    free: fc.option(fc.nat(), { nil: undefined }),
  }),
  { maxLength: 200 },
)

test('every record has its own bytes until it is freed', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const store = createByteStore()
      const present: { record: number; bytes: Buffer }[] = []
      for (const [index, { length, free }] of all.entries()) {
        if (free !== undefined && present.length > 0) {
          const [freed] = present.splice(free % present.length, 1)
          if (freed) store.free(freed.record)
        } else {
          const bytes = content(length, index)
          present.push({ record: store.put(bytes), bytes })
        }
      }
      for (const { record, bytes } of present) expect(store.read(record).equals(bytes)).toBe(true)
      expect(new Set(present.map(({ record }) => record)).size).toBe(present.length)
    }),
    { numRuns: 300 },
  )
})

test('records of changing sizes use the memory of freed ones', () => {
  const store = createByteStore()
  let records = Array.from({ length: 2_000 }, (_, index) => store.put(content(1_000, index)))
  const before = store.bytes()
  for (let round = 0; round < 20; round++) {
    records = records.map((record, index) => {
      store.free(record)
      return store.put(content(700 + ((index * 7 + round * 13) % 600), index))
    })
  }
  expect(store.bytes()).toBeLessThan(4 * before)
  for (const record of records) store.free(record)
  // One page of each size is kept.
  expect(store.bytes()).toBeLessThan(20 * 256 * 1024)
})

test('a sixteenth of the memory of a full store is unused at most', () => {
  const store = createByteStore()
  const length = 1_300
  const count = 10_000
  for (let index = 0; index < count; index++) store.put(content(length, index))
  expect(store.bytes() / (length * count)).toBeLessThan(1.08)
})

test('a large record has memory of its own, which is returned', () => {
  const store = createByteStore()
  const record = store.put(content(3_000_000, 1))
  expect(store.bytes()).toBeGreaterThan(3_000_000)
  store.free(record)
  expect(store.bytes()).toBe(0)
  expect(() => store.read(record)).toThrow('There is no record')
})
