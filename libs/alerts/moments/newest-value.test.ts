import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newestValue, type ValueSpan } from './newest-value.ts'

/** The spans of samples, each a value at the time of its index. */
function spansOf(values: readonly string[]): ValueSpan[] {
  const spans = new Map<string, ValueSpan>()
  for (const [index, value] of values.entries())
    spans.set(value, { value, firstMs: spans.get(value)?.firstMs ?? index, lastMs: index })
  return [...spans.values()]
}

test.each([
  ['A', { value: 'A', sinceMs: 0, isNew: true }],
  ['AAB', { value: 'B', sinceMs: 2, isNew: true }],
  ['ABBC', { value: 'C', sinceMs: 3, isNew: true }],
  ['ABA', { value: 'A', sinceMs: 1, isNew: false }],
  ['ABAB', { value: 'B', sinceMs: 2, isNew: false }],
])('of %s', (values, expected) => {
  const found = newestValue(spansOf([...values]))
  expect({ value: found?.newest.value, sinceMs: found?.sinceMs, isNew: found?.isNew }).toEqual(expected)
})

test('nothing of no samples', () => {
  expect(newestValue([])).toBeUndefined()
})

test('the newest value is new only if all samples since its first one have it, whatever the order of the spans', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('A', 'B', 'C'), { minLength: 1 }), fc.func(fc.integer()), (values, order) => {
      const spans = spansOf(values).sort((a, b) => order(a.firstMs) - order(b.firstMs))
      const last = values.at(-1) ?? 'A'
      const found = newestValue(spans)
      expect(found?.newest.value).toBe(last)
      expect(found?.isNew).toBe(values.slice(values.indexOf(last)).every((value) => value === last))
    }),
  )
})
