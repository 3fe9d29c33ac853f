import { expect, test } from 'vitest'
import { folded } from './folded.ts'

test.each([
  ['İstanbul', 'istanbul'],
  ['Isparta', 'ısparta'],
  ['ΟΔΟΣ', 'οδος'],
  ['Straße', 'STRASSE'],
  ['STRAẞE', 'straße'],
  ['ϴ1', 'θ1'],
  ['Zu\u0308rich', 'Z\u00dcRICH'],
])('%s and %s are equal', (one, other) => {
  expect(folded(one)).toBe(folded(other))
})
