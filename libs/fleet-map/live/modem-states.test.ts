import { expect, test } from 'vitest'
import type { SignalRow } from '#questdb/fleet/fleet-gps'
import { createModemStates } from './modem-states.ts'

const radio = { rat: 'lte', plmn: '26201', operatorName: null, rsrpDbm: -90, rsrqDb: null, sinrDb: null }
const aligned = { quality: 'good', qualityBasis: 'rsrp', alignment: 'none', alignErrorM: null, lat: null, lon: null }
const signal = (modem: string | null, tsMs: number): SignalRow => ({
  ...{ ...radio, ...aligned, tsMs, modem },
  ...{ nrRsrpDbm: null, completedFromMs: null },
})

test('a modem that is connected and has sent no signal is the active one', () => {
  const states = createModemStates()
  states.measure(1, signal('a', 1_000))
  expect(states.activeSignal(1)).toMatchObject({ modem: 'a' })
  states.connect(1, 'b', 2_000)
  expect(states.activeSignal(1)).toBeNull()
  expect(states.signals(1)).toMatchObject([{ isActive: false, signal: { modem: 'a' } }])
  states.connect(1, 'a', 3_000)
  expect(states.activeSignal(1)).toMatchObject({ modem: 'a' })
})

test('a signal without a modem is shown beside connections that name one', () => {
  const states = createModemStates()
  states.measure(1, signal(null, 1_000))
  states.connect(1, 'wwan0', 2_000)
  expect(states.activeSignal(1)).toMatchObject({ modem: null, tsMs: 1_000 })
})
