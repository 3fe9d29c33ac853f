import { expect, test } from 'vitest'
import { filterText, type WordedFilter } from './filter-words.ts'

const whole: Required<WordedFilter> = {
  q: 'ice',
  status: 'offline',
  tag: ['truck', 'eu'],
  groupId: 'g',
  placeId: 'p',
  bbox: [4, 51, 6, 53],
  signal: ['none', 'poor'],
  rat: 'lte-m',
  plmn: '20408',
  modems: 'withoutService',
  near: 'Arnhem',
  minTodayBytes: 100e6,
  minMonthBytes: 5e9,
  firmware: '4.4.0',
  configState: 'differs',
  seenWithinMinutes: 15,
  silentForMinutes: 120,
}

test('says each member of a filter in words', () => {
  expect(filterText(whole, { groupId: 'Fridges', placeId: 'Depot', plmn: 'KPN' })).toBe(
    [
      ...['“ice”', 'Offline', 'Tags truck, eu', 'Group Fridges', 'In Depot', 'In the view of the map', 'Bad signal'],
      ...['LTE-M', 'KPN', 'A modem without service', 'Near Arnhem', '100.0 MB or more today'],
      ...['5.0 GB or more this month', 'Firmware 4.4.0', 'Config changed on the device'],
      ...['Report in the last 15 min', 'No report for 2 h 00 min'],
    ].join(', '),
  )
})

test.each<[WordedFilter, string]>([
  [{}, ''],
  [{ tag: ['truck'] }, 'Tag truck'],
  [{ groupId: 'g' }, 'In a group'],
  [{ placeId: 'p' }, 'In a place'],
  [{ plmn: '20408' }, '20408'],
  [{ rat: 'none' }, 'No service'],
  [{ signal: ['fair', 'unknown'] }, 'Signal fair or unknown'],
  // Words of an address that the service does not know.
  [
    { status: 'asleep', signal: ['constructor'], configState: 'odd' } as unknown as WordedFilter,
    'asleep, Signal constructor, Config odd',
  ],
])('says %j', (filter, words) => {
  expect(filterText(filter)).toBe(words)
})
