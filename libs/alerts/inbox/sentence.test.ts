import { expect, test } from 'vitest'
import { sentenceOf } from './sentence.ts'

test.each([
  ['low_voltage', { voltageV: 11.2 }, '11.2 V, too low since 2026-05-04 12:30 UTC'],
  ['low_voltage', { voltageV: 11 }, '11.0 V, too low since 2026-05-04 12:30 UTC'],
  ['weak_signal', { rsrpDbm: -110.4 }, 'signal −110.4 dBm, weak since 2026-05-04 12:30 UTC'],
  ['high_temperature', { temperatureC: 80.30000000000001 }, '80.3 °C, too high since 2026-05-04 12:30 UTC'],
  ['data_use', { megabytes: 2000.4 }, '2,000.4 MB used since 2026-05-04 12:30 UTC'],
  ['modem_down', { modem: null }, 'the modem without service since 2026-05-04 12:30 UTC'],
  [
    'radio_fault',
    { modem: 'wwan0', offsetDb: -3.4 },
    'modem wwan0 −3.4\u00a0dB beside its neighbours, weak since 2026-05-04 12:30 UTC',
  ],
  [
    'job_failed',
    { jobKind: 'firmware_update', jobStatus: 'timedOut' },
    'job firmware update timed out, none succeeded since 2026-05-04 12:30 UTC',
  ],
  [
    'config_differs',
    { profileName: null, version: 3 },
    'another configuration than the applied version 3 of the profile since 2026-05-04 12:30 UTC',
  ],
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
    'the modem with the operator 26202 instead of One since 2026-05-04 12:30 UTC',
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
