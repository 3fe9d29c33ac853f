import { expect, test } from 'vitest'
import { isSameReader } from './same-reader.ts'

const signed = (id: string, ...organizations: string[]) => ({
  id,
  platform: false,
  organizations: organizations.map((organization) => ({ id: organization })),
})
const platform = { ...signed('key:p'), platform: true }

test.each([
  ['the same person', signed('person:1', 'a'), signed('person:1', 'a'), true],
  ['another person', signed('person:1', 'a'), signed('person:2', 'a'), false],
  ['a key instead of a person', signed('person:1', 'a'), signed('key:1', 'a'), false],
  ['a person instead of a key', signed('key:1', 'a'), signed('person:1', 'a'), false],
  ['a key of the same organization', signed('key:1', 'a'), signed('key:2', 'a'), true],
  ['a key of more organizations', signed('key:1', 'a'), signed('key:2', 'a', 'b'), true],
  ['a key of another organization', signed('key:1', 'a'), signed('key:2', 'b'), false],
  ['a key of all organizations', signed('key:1', 'a'), platform, true],
  ['a key of one organization instead of all', platform, signed('key:1', 'a'), false],
])('%s', (_, before, next, isSame) => {
  expect(isSameReader(before, next)).toBe(isSame)
})
