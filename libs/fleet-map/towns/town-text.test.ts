import fc from 'fast-check'
import { expect, test } from 'vitest'
import { townText } from './town-text.ts'

test.each([
  ['Malmö', 'malmo'],
  ['MALMO\u0308', 'malmo'],
  ['Łódź', 'lodz'],
  ['Ærøskøbing', 'aeroskobing'],
  ['İstanbul', 'istanbul'],
  ['Weißenfels', 'weissenfels'],
  ['São Paulo', 'sao paulo'],
  ['東京', '東京'],
])('%s is %s', (name, text) => {
  expect(townText(name)).toBe(text)
})

test('a name and its text are the same, whatever the case', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      expect(townText(townText(name))).toBe(townText(name))
    }),
  )
})
