import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isoTime } from '#core/iso-time'

const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

it('formats each time as the standard method does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: lastMs }), (ms) => {
      expect(isoTime(ms)).toBe(new Date(ms).toISOString())
    }),
  )
})
