import { expect, test } from 'vitest'
import { isUnavailable } from './errors.ts'

test.each([
  'Query read timeout',
  'Metadata read timeout [src=reader, timeout=1000ms]]',
  'Connection terminated unexpectedly',
  // QuestDB without the tables of this version, which ingest creates and upgrades at its start.
  'table does not exist [table=dwell]',
  'Invalid column: modem',
])('a caller may retry after "%s"', (message) => {
  expect(isUnavailable(new Error(message))).toBe(true)
})

test('a caller gets the same error again for a wrong statement', () => {
  expect(isUnavailable(Object.assign(new Error('unexpected token [FORM]'), { code: '00000' }))).toBe(false)
})

test.each([
  ['55P03', 'a lock that is not released'],
  ['57014', 'a statement that runs for too long'],
  ['25P03', 'a transaction that paused for too long'],
])('a caller may retry after %s, %s', (code) => {
  expect(isUnavailable(Object.assign(new Error('canceled'), { code }))).toBe(true)
})
