import { expect, test } from 'vitest'
import { shared, slicesOf } from './shares.ts'

test('the rules of a large fleet are divided among statements, at least one rule in each', () => {
  const rules = [1, 2, 3, 4, 5]
  expect(slicesOf(rules, 20)).toEqual([rules])
  expect(slicesOf(rules, 100_000)).toEqual([[1, 2], [3, 4], [5]])
  expect(slicesOf(rules, 1_000_000)).toHaveLength(5)
  expect(slicesOf([], 20)).toEqual([])
})

test('small organizations share statements of limited size, each in one of them', () => {
  const pairs = [5_000, 5_000, 5_000, 5_000, 1, 5_000, 0]
  const groups = shared(pairs, (item) => item)
  expect(groups).toEqual([
    [5_000, 5_000, 5_000, 5_000],
    [1, 5_000, 0],
  ])
  const many = shared(
    Array.from({ length: 250 }, () => 0),
    (item) => item,
  )
  expect(many.map((group) => group.length)).toEqual([100, 100, 50])
})
