import { expect, test } from 'vitest'
import type { Alert, Condition } from '../../api/schemas.ts'
import { conditionText, openedText } from './alert-words.ts'

test.each<[Condition, string]>([
  [{ kind: 'low_voltage', voltageBelowV: 11.5, forMinutes: 10 }, 'Supply voltage below 11.5 V for 10 min'],
  [{ kind: 'low_voltage', voltageBelowV: 11.25, forMinutes: 10 }, 'Supply voltage below 11.25 V for 10 min'],
  [{ kind: 'weak_signal', rsrpBelowDbm: -110.5, forMinutes: 90 }, 'RSRP below −110.5 dBm for 1 h 30 min'],
  [{ kind: 'high_temperature', temperatureAboveC: -0.5, forMinutes: 1 }, 'Temperature above −0.5 °C for 1 min'],
  [{ kind: 'data_use', aboveMegabytes: 2000.4567, period: 'day' }, 'More than 2,000.4567 MB per day'],
  [{ kind: 'offline', forMinutes: 2_890 }, 'No report for 2 d 0 h 10 min'],
  [{ kind: 'offline', forMinutes: 2_880 }, 'No report for 2 d 0 h'],
  [{ kind: 'config_differs', forMinutes: 0 }, 'Another configuration than was applied'],
])('a rule reads as it was entered: %j', (condition, text) => {
  expect(conditionText(condition, () => 'Depot')).toBe(text)
})

test.each<[Alert['kind'], Alert['measured'], string]>([
  ['low_voltage', { voltageV: 11.4 }, '11.4 V'],
  ['low_voltage', { voltageV: 11 }, '11.0 V'],
  ['weak_signal', { rsrpDbm: -110.6 }, 'RSRP −110.6 dBm'],
  ['high_temperature', { temperatureC: 80.4 }, '80.4 °C'],
  ['data_use', { megabytes: 2000.4 }, '2,000.4 MB'],
  ['radio_fault', { modem: 'wwan0', offsetDb: -3.4 }, 'Modem wwan0 −3.4\u00a0dB beside its neighbours'],
  ['modem_down', { modem: null }, 'The modem without service'],
  ['modem_down', { modem: 'wwan0' }, 'Modem wwan0 without service'],
  [
    'operator_changed',
    { modem: null, from: { plmn: '26201', operatorName: 'One' }, to: {} },
    'The modem: unknown operator instead of One',
  ],
  ['config_differs', { profileName: null, version: 3 }, 'Not as applied: deleted profile, version 3'],
  ['job_failed', { jobKind: 'firmware_update', jobStatus: 'timedOut' }, 'Firmware update: Timed out'],
])('an alert of %s with %j', (kind, measured, text) => {
  expect(openedText({ kind, measured })).toBe(text)
})
