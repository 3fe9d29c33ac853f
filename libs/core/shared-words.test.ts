import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSharedWords } from '#core/shared-words'

test('lists with the same words are one list in memory', () => {
  const shared = createSharedWords()
  const first = shared.list(['bus', 'depot'])
  expect(shared.list(['bus', 'depot'])).toBe(first)
  expect(shared.list(['bus', 'depot 2'])).not.toBe(first)
})

test('words and lists keep their content, also beyond the limit of the table', () => {
  const shared = createSharedWords()
  for (let number = 0; number < 45_000; number++) {
    expect(shared.word(`word ${number}`)).toBe(`word ${number}`)
    expect(shared.list([`tag ${number}`])).toEqual([`tag ${number}`])
  }
  const words = fc.array(fc.oneof(fc.constantFrom('', '\n', 'a', 'a\nb', 'b'), fc.string()), { maxLength: 4 })
  fc.assert(
    fc.property(words, (list) => {
      expect(shared.list(list)).toEqual(list)
    }),
  )
  expect(shared.word(null)).toBeNull()
})
