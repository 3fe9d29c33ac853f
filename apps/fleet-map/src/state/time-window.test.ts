import { expect, test } from 'vitest'
import { windowMinutes, windowParam, windowText } from './time-window.ts'

test.each([
  [undefined, 1_440],
  ['', 1_440],
  ['360', 360],
  ['129600', 129_600],
  ['129601', 1_440],
  ['-60', 1_440],
  ['1.5', 1_440],
  ['week', 1_440],
])('the address window=%s is %i minutes', (text, minutes) => {
  expect(windowMinutes(text)).toBe(minutes)
  expect(windowMinutes(windowParam(minutes))).toBe(minutes)
})

test.each([
  [1, '1 minute'],
  [90, '90 minutes'],
  [60, '1 hour'],
  [1_440, '24 hours'],
  [2_160, '36 hours'],
  [129_600, '90 days'],
])('%i minutes are %s', (minutes, text) => {
  expect(windowText(minutes)).toBe(text)
})
