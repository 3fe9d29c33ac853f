import { expect, test } from 'vitest'
import { noValue, unusable } from './conversions.ts'
import { plmnOf } from './plmn.ts'

test.each([
  [262, 3, '26203'],
  [222, 88, '22288'],
  [310, 410, '310410'],
  [310, 4, '310004'],
  [310, 26, '31026'],
  [334, 20, '334020'],
  [722, 70, '722070'],
  [722, 7, '72207'],
  ['334', '20', '33420'],
  ['334', '020', '334020'],
  ['262', '03', '26203'],
  ['738', '2', '738002'],
  // Test networks.
  [1, 1, '00101'],
  ['001', '01', '00101'],
  ['001', '010', '001010'],
  // Not in the list.
  [999, 9, '99909'],
  [999, 123, '999123'],
  [302, 999, '302999'],
])('country %j and network %j are %s', (mcc, mnc, plmn) => {
  expect(plmnOf(mcc, mnc)).toBe(plmn)
})

test('codes that are missing are no value, and others are unusable', () => {
  for (const code of [undefined, null, '', '--', 'N/A']) expect(plmnOf(code, 1)).toBe(noValue)
  for (const code of ['26', 1.5, -3, true, {}]) expect(plmnOf(262, code === '26' ? '1a' : code)).toBe(unusable)
  expect(plmnOf(26, 1)).toBe(unusable)
})
