import { expect, test } from 'vitest'
import { isUnavailable } from '#postgres/errors'

test.each([
  'Query read timeout',
  'Metadata read timeout [src=reader, timeout=1000ms]]',
  'Connection terminated unexpectedly',
])('a caller may retry after "%s"', (message) => {
  expect(isUnavailable(new Error(message))).toBe(true)
})

test('a caller gets the same error again for a wrong statement', () => {
  expect(isUnavailable(Object.assign(new Error('table does not exist'), { code: '00000' }))).toBe(false)
})
