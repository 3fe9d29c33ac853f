import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createChangeOrder } from '#fleet-map/live/change-order'

test('items are visited in the order of their last change, until the visitor has seen enough', () => {
  const change = fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.boolean())
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), fc.nat({ max: 50 }), (changes, enough) => {
      const order = createChangeOrder()
      let expected: number[] = []
      for (const [item, isRemoved] of changes) {
        expected = expected.filter((other) => other !== item)
        if (isRemoved) order.remove(item)
        else {
          order.touch(item)
          expected.unshift(item)
        }
      }
      const visited: number[] = []
      order.fromNewest((item) => {
        if (visited.length === enough) return false
        visited.push(item)
        return true
      })
      expect(visited).toEqual(expected.slice(0, enough))
    }),
  )
})
