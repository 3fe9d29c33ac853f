import { expect, test } from 'vitest'
import { requestsForBytes, requestsForDays } from './report-cost.ts'

const noonMs = Date.UTC(2026, 10, 21, 12)
const hoursAgo = (hours: number) => ({ tsMs: noonMs - hours * 3_600_000 })

test.each([
  ['nothing', [], 1],
  ['one day', [0, 1, 5], 1],
  ['a buffer across midnight', [20, 13, 0], 1],
  ['two days out of order', [0, 20, 1, 21], 1],
  ['three days', [60, 30, 0], 2],
  ['ten days, several times', [...Array(10).keys(), ...Array(10).keys()].map((day) => day * 24), 9],
])('%s', (_name, hours, requests) => expect(requestsForDays(hours.map(hoursAgo))).toBe(requests))

test.each([
  [0, 1],
  [512 * 1024, 1],
  [512 * 1024 + 1, 2],
  [1024 * 1024, 2],
])('%i bytes count as %i requests', (bytes, requests) => expect(requestsForBytes(bytes)).toBe(requests))
