import { expect, test } from 'vitest'
import { usedDay } from './used-day.ts'

const item = (modem: string, rxBytes: number | null) => ({ modem, interface: 'wwan0', rxBytes, txBytes: null })
const window = { from: '2026-05-04T00:00:00.000Z', to: '2026-05-05T00:00:00.000Z', requestedMinutes: 1_440 }
const items = [item('a', 5), item('b', null), item('c', 2)]

test('a day has the data use of all modems', () => {
  expect(usedDay('2026-05-04', { items, window: { ...window, limitedBy: null } })).toEqual({
    ...{ day: '2026-05-04', rxBytes: 7, txBytes: null },
  })
})

test('a day of which the plan shows only a part has none', () => {
  const cut = { ...window, from: '2026-05-04T18:00:00.000Z', limitedBy: 'plan' as const }
  expect(usedDay('2026-05-04', { items, window: cut })).toEqual({ day: '2026-05-04', rxBytes: null, txBytes: null })
})
