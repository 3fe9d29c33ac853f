import { expect, test } from 'vitest'
import { completeFromMs, type HistoryRow, mostRows } from './history-row.ts'

const startMs = Date.parse('2026-03-02T12:00:00Z')
/** One row a second. */
const rows = (length: number, fromMs = startMs): HistoryRow[] =>
  Array.from({ length }, (_, index) => ({ kind: 'cellular', ts: new Date(fromMs + index * 1_000).toISOString() }))

test('is null while every list is complete', () => {
  expect(completeFromMs([], rows(mostRows - 1))).toBeNull()
})

test('is the start of the cut list that begins last', () => {
  expect(completeFromMs(rows(10, startMs + 3_600_000), rows(mostRows))).toBe(startMs)
  expect(completeFromMs(rows(mostRows), rows(mostRows, startMs + 60_000))).toBe(startMs + 60_000)
})
