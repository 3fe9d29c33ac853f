import { expect, test } from 'vitest'
import { eventText } from './event-text.ts'

test('a handover names its modem if the router names its modems', () => {
  const place = { rat: 'lte', plmn: '26201', operatorName: 'Tel' }
  const detail = { from: { ...place, cellId: '1' }, to: { ...place, cellId: '2' } }
  const event = { id: '1', at: '2026-05-04T12:30:00.000Z', kind: 'handover', by: null, byName: null } as const
  const textWith = (more: object) => eventText({ ...event, action: 'cell_changed', detail: { ...more, ...detail } })
  expect(textWith({})).toEqual({ title: 'Other cell', more: 'Tel LTE cell 1 → Tel LTE cell 2' })
  expect(textWith({ modem: 'wwan1' }).more).toBe('wwan1: Tel LTE cell 1 → Tel LTE cell 2')
})
