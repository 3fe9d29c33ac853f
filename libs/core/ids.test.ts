import { expect, test } from 'vitest'
import { isUuid, newId, timeOfId } from '#core/ids'
import { hashToken, issueToken, parseToken } from '#core/tokens'

test('ids are version 7 UUIDs that sort by creation, also within one millisecond and when the clock steps back', () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => newId(Date.now() - (index % 3) * 1_000))
  expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true)
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('the time of an id is the time of its creation', () => {
  const nowMs = Date.UTC(2040, 0, 2, 3, 4, 5, 678)
  expect(timeOfId(newId(nowMs))).toEqual(new Date(nowMs))
})

test('ids have the right time again after the clock was an hour ahead', () => {
  const nowMs = Date.now()
  newId(nowMs + 3_600_000)
  const ids = Array.from({ length: 5_000 }, () => newId(nowMs))
  expect(timeOfId(ids.at(-1) ?? '').getTime() - nowMs).toBeLessThan(10)
  expect([...ids].sort()).toEqual(ids)
})

test('a token contains its kind and id, and the checksum detects one wrong character', () => {
  const issued = issueToken('fld')
  expect(parseToken(issued.token)).toEqual({ prefix: 'fld', id: issued.id })
  expect(hashToken(issued.token)).toEqual(issued.hash)
  const altered = issued.token.replace(/.(?=.{10}$)/, (character) => (character === 'a' ? 'b' : 'a'))
  expect(parseToken(altered)).toBeUndefined()
  expect(parseToken('flk_x')).toBeUndefined()
})
