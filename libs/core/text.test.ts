import { expect, test } from 'vitest'
import { isStorable, isStorableJson, storable, storableJson } from '#core/text'

test('only NUL and lone surrogates cannot be stored', () => {
  for (const text of ['a\0', '\ud800', 'a\udfffb']) {
    expect(isStorable(text)).toBe(false)
    expect(isStorableJson({ a: [{ [text]: 1 }] })).toBe(false)
    expect(isStorableJson({ a: [{ b: text }] })).toBe(false)
  }
  for (const text of ['', '😀', 'line\nbreak', 'مرحبا']) expect(isStorable(text) && storable(text) === text).toBe(true)
  expect(isStorableJson({ a: [1, null, true, '😀'] })).toBe(true)
  expect(isStorableJson({ a: JSON.parse('[1e999]') })).toBe(false)
})

test('characters that cannot be stored are replaced, also in keys', () => {
  expect(storable('a\0b\ud800')).toBe('a\ufffdb\ufffd')
  expect(storableJson({ '\0': ['\ud800', { a: 'x' }], n: 1, none: null })).toEqual({
    '\ufffd': ['\ufffd', { a: 'x' }],
    n: 1,
    none: null,
  })
})
