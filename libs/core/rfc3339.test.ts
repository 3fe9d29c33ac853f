import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseRfc3339 } from './rfc3339.ts'

const date = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})

it('parses every date-time like Date', () => {
  fc.assert(
    fc.property(date, (when) => {
      expect(parseRfc3339(when.toISOString())).toBe(when.getTime())
    }),
  )
})

it('parses offsets, lower case, a space and fractions of any length', () => {
  const noon = Date.UTC(2024, 1, 29, 12)
  for (const text of ['2024-02-29T12:00:00z', '2024-02-29 14:30:00.0+02:30', '2024-02-29t07:00:00.00000-05:00']) {
    expect(parseRfc3339(text)).toBe(noon)
  }
  expect(parseRfc3339('2024-02-29T12:00:00.987654321Z')).toBe(noon + 987)
  expect(parseRfc3339('2016-12-31T23:59:60Z')).toBe(Date.UTC(2017, 0, 1))
})

it.each([
  '2023-02-29T00:00:00Z',
  '2023-13-01T00:00:00Z',
  '2023-04-31T00:00:00Z',
  '2023-01-00T00:00:00Z',
  '2023-01-01T24:00:00Z',
  '2023-01-01T00:60:00Z',
  '2023-01-01T00:00:61Z',
  '2023-01-01T00:00:00',
  '2023-01-01T00:00:00.Z',
  '2023-01-01T00:00:00Zulu',
  '2023-01-01T00:00:00+0100',
  '2023-01-01T00:00:00+24:00',
  '2023-01-01',
  '23-01-01T00:00:00Z',
  'Thu, 01 Jan 2026 00:00:00 GMT',
  '',
])('refuses %j', (text) => expect(parseRfc3339(text)).toBeNull())
