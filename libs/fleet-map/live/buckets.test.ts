import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBuckets } from '#fleet-map/live/buckets'

test('buckets contain what was placed last', () => {
  const item = fc.integer({ min: 0, max: 3_000 })
  const key = fc.constantFrom(0, 1, 2, 2 ** 26, 2 ** 32 - 2)
  fc.assert(
    fc.property(fc.array(fc.tuple(item, fc.option(key)), { maxLength: 200 }), (changes) => {
      const buckets = createBuckets()
      const expected = new Map<number, number>()
      for (const [changed, to] of changes) {
        if (to === null) {
          buckets.remove(changed)
          expected.delete(changed)
        } else {
          buckets.place(changed, to)
          expected.set(changed, to)
        }
      }
      for (const each of [0, 1, 2, 2 ** 26, 2 ** 32 - 2]) {
        const found: number[] = []
        buckets.forEach(each, (one) => found.push(one))
        const wanted = [...expected].filter(([, to]) => to === each).map(([one]) => one)
        expect(found.sort()).toEqual(wanted.sort())
      }
    }),
  )
})
