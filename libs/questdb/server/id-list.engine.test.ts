import { expect, test } from 'vitest'
import { idList, maxIds } from './id-list.ts'

test('fills lists up to one of a few sizes with ids of no device', () => {
  expect(idList(['a'], 3)).toEqual({ list: '$3', ids: ['a'] })
  const { list, ids } = idList(['a', 'b', 'c'], 2)
  expect(list).toBe('$2, $3, $4, $5, $6, $7, $8, $9')
  expect(ids).toEqual(['a', 'b', 'c', '', '', '', '', ''])
  const lists = Array.from({ length: maxIds }, (_, index) => idList(Array(index + 1).fill('a'), 1).list)
  expect(new Set(lists).size).toBe(5)
})

test('refuses more ids than the largest list', () => {
  expect(() => idList(Array(maxIds + 1).fill('a'), 1)).toThrow(RangeError)
})
