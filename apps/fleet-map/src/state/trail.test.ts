import { expect, test } from 'vitest'
import type { HistoryRow } from './history-row.ts'
import { radioHistory } from './trail.ts'

const at = (minute: number) => new Date(Date.parse('2026-05-04T12:00:00Z') + minute * 60_000).toISOString()
const fix = (minute: number, lon: number, more: Partial<HistoryRow> = {}): HistoryRow => ({
  ...{ ts: at(minute), kind: 'location', lat: 52, lon, fix: '3d', accuracyM: 5, hdop: null, usable: true },
  ...more,
})
const lonsOf = (fixes: HistoryRow[], cellular: HistoryRow[] = []) =>
  radioHistory({ cellular, fixes }).trail.map(({ lon }) => lon)

test('the trail has the fixes that the service can use, whatever their other values say', () => {
  expect(
    lonsOf([
      fix(0, 5),
      // A good HDOP with an accuracy that the router does not know, and a fix whose time it does not know.
      fix(1, 6, { accuracyM: null, hdop: 1, usable: false }),
      fix(2, 7, { fixTs: null, usable: false }),
      fix(3, 8, { accuracyM: null, hdop: 25, usable: false }),
      fix(4, 9, { fix: null, accuracyM: null, usable: true }),
    ]),
  ).toEqual([5, 9])
})

test('a measurement between unusable fixes is on the trail where the service aligned it', () => {
  const cellular: HistoryRow[] = [
    { ts: at(1), kind: 'cellular', rat: 'lte', quality: 'good', lat: 52, lon: 5.5, alignment: 'interpolated' },
    { ts: at(2), kind: 'cellular', rat: 'lte', quality: 'good', lat: null, lon: null, alignment: 'none' },
  ]
  expect(lonsOf([fix(0, 5), fix(1.5, 60, { usable: false }), fix(3, 6)], cellular)).toEqual([5, 5.5, 6])
})
