import { expect, test } from 'vitest'
import { countOfDay } from './day-count.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const hoursAgo = (...hours: number[]) => hours.map((ago) => ({ at: new Date(nowMs - ago * 3_600_000).toISOString() }))

test.each([
  { events: [], hasOlder: true, text: undefined },
  { events: hoursAgo(25, 30), hasOlder: true, text: undefined },
  { events: hoursAgo(1, 2, 23), hasOlder: false, text: '3' },
  { events: hoursAgo(1, 2, 25), hasOlder: true, text: '2' },
  // A page can end before it is full.
  { events: hoursAgo(1, 2, 3), hasOlder: true, text: '3 or more' },
])('tells $text for $events.length events with older ones: $hasOlder', ({ events, hasOlder, text }) => {
  expect(countOfDay(events, { hasOlder, nowMs })).toBe(text)
})
