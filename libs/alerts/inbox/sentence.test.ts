import { expect, test } from 'vitest'
import { sentenceOf } from './sentence.ts'

test.each([
  ['low_voltage', { voltageV: 11.2 }, '11.2 V, too low since 2026-05-04 12:30 UTC'],
  ['rebooted', { uptimeS: 60, reason: null }, 'restarted at 2026-05-04 12:30 UTC'],
  ['rebooted', { uptimeS: 60, reason: 'watchdog' }, 'restarted at 2026-05-04 12:30 UTC, reason: watchdog'],
  [
    'sim_changed',
    { modem: 'wwan0', from: { iccid: '**1234' }, to: { iccid: '**5678' } },
    'modem wwan0 has another SIM since 2026-05-04 12:30 UTC',
  ],
  [
    'operator_changed',
    { modem: null, from: { plmn: '26201', operatorName: 'One' }, to: { plmn: '26202', operatorName: null } },
    'modem of the router with the operator 26202 instead of One since 2026-05-04 12:30 UTC',
  ],
  [
    'entered_place',
    { lat: 51.9, lon: 4.1, placeId: 'p', placeName: 'Depot\nNorth' },
    'inside Depot North since 2026-05-04 12:30 UTC',
  ],
  ['left_place', { lat: 51.9, lon: 4.1 }, 'outside the place since 2026-05-04 12:30 UTC'],
] as const)('the sentence of %s with %j', (kind, measured, sentence) => {
  const alert = {
    kind,
    measured,
    deviceId: 'd',
    deviceName: 'Truck',
    since: '2026-05-04T12:30:10Z',
    near: null,
    closed: false,
  }
  expect(sentenceOf(alert)).toBe(sentence)
})

test('a sentence names the nearest town', () => {
  const near = { name: 'Arnhem', country: 'NL', distanceKm: 12.3, bearing: 44 }
  const known = { deviceId: 'd', deviceName: 'Truck', since: '2026-05-04T12:30:10Z', near, closed: true }
  expect(sentenceOf({ kind: 'weak_signal', measured: { rsrpDbm: null }, ...known })).toBe(
    'no service since 2026-05-04 12:30 UTC, 12 km north-east of Arnhem (closed since)',
  )
})
