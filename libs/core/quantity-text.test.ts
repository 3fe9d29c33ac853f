import { expect, test } from 'vitest'
import { enteredText, measuredText, offsetText } from './quantity-text.ts'

test('a number that was entered has all of its digits', () => {
  expect([11.5, 12, -110.25, 0.00000001, 1_000_000_000].map((value) => enteredText(value, 'V'))).toEqual([
    ...['11.5 V', '12 V', '−110.25 V', '0.00000001 V', '1,000,000,000 V'],
  ])
})

test('a measured number has at most three digits after the point, and as many as its unit needs', () => {
  expect(measuredText(-110.4, 'dBm')).toBe('−110.4 dBm')
  expect(measuredText(-0.0001, '°C')).toBe('0 °C')
  expect(measuredText(80.30000000000001, '°C')).toBe('80.3 °C')
  expect(measuredText(12, 'V', 1)).toBe('12.0 V')
  expect(measuredText(11.449, 'V', 1)).toBe('11.449 V')
  expect(measuredText(null, 'V')).toBe('–')
})

test('an offset has a sign and one digit', () => {
  expect([-3.4, 0.5, 0, null].map(offsetText)).toEqual(['−3.4\u00a0dB', '+0.5\u00a0dB', '0.0\u00a0dB', '–'])
})
