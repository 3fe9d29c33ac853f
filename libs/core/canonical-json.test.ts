import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from '#core/canonical-json'

test('the example of RFC 8785 has the bytes of the RFC', () => {
  const source = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  expect(canonicalJson(JSON.parse(source))).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
})

test('keys are in the order of their UTF-16 code units', () => {
  // The keys of RFC 8785, 3.2.3. The emoji is above U+FB33 and sorts before it, by its first surrogate.
  const keys = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']
  const text = `{${keys.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`
  const other = Object.fromEntries(keys.toReversed().map((key) => [key, 0]))
  expect(canonicalJson(other)).toBe(text)
})

test.each([
  [-0, '0'],
  [5e-324, '5e-324'],
  [-5e-324, '-5e-324'],
  [1.7976931348623157e308, '1.7976931348623157e+308'],
  [9007199254740992, '9007199254740992'],
  [295147905179352830000, '295147905179352830000'],
  [9.999999999999997e22, '9.999999999999997e+22'],
  [1e23, '1e+23'],
  [1e21, '1e+21'],
  [999999999999999900000, '999999999999999900000'],
  [0.000001, '0.000001'],
  [9.999999999999997e-7, '9.999999999999997e-7'],
  [333333333.33333325, '333333333.33333325'],
])('the number %d is written as %s', (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})

test.each([
  ['NaN', { a: Number.NaN }],
  ['an infinite number', [Number.POSITIVE_INFINITY]],
  ['a lone surrogate', { a: '\ud800' }],
  ['a key with a lone surrogate', { '\udead': 1 }],
  ['undefined', { a: undefined }],
  ['a bigint', [1n]],
  ['a function', { a: () => 1 }],
])('%s is refused', (_, value) => {
  expect(() => canonicalJson(value)).toThrow(TypeError)
})

const json = fc.jsonValue({ stringUnit: 'binary' })

test('the text stands for the same value', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('neither the order of members nor spaces change the text, and the text of the text is the same', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value)
      expect(canonicalJson(JSON.parse(JSON.stringify(reversed(value), null, 2)))).toBe(text)
      expect(canonicalJson(JSON.parse(text))).toBe(text)
    }),
  )
})

test('different values have different texts', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = digest(canonicalJson(a)) === digest(canonicalJson(b))
      expect(same).toBe(sorted(a) === sorted(b))
    }),
  )
})

const digest = (text: string) => createHash('sha256').update(text).digest('hex')

/** The same value with the members of each object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  )
}

/** A second way to compare: entries as arrays, which JSON.stringify keeps in order. */
function sorted(value: unknown): string {
  const ordered = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return ['array', ...inner.map(ordered)]
    if (typeof inner !== 'object' || inner === null) return inner
    const entries = Object.entries(inner).map(([key, member]) => [key, ordered(member)] as const)
    return ['object', ...entries.sort(([a], [b]) => (a < b ? -1 : 1))]
  }
  return JSON.stringify(ordered(value))
}
