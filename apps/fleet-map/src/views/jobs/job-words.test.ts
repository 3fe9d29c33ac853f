import { expect, test } from 'vitest'
import { firmwareWords, namedValues, profileIn } from './job-words.ts'

test('says the values of a result in words, with their units', () => {
  const result = {
    ...{ uptimeS: 188, downloadMbps: 31.25, freeBytes: 98_304, load1: 0.5, rsrpDbm: -101, modemDNS: 'ok' },
    ...{ firmware: '4.2.1', profileVersion: null, isRoaming: false, bands: ['B3', 'B20'], S: 1, last_error: '' },
  }
  expect(namedValues({ ...result, modem: { signalPct: 70 } })).toEqual([
    { name: 'Uptime', text: '3 min' },
    { name: 'Download', text: '31.3 Mbit/s' },
    { name: 'Free', text: '98.3 kB' },
    { name: 'Load 1', text: '0.5' },
    { name: 'RSRP', text: '−101 dBm' },
    { name: 'Modem DNS', text: 'ok' },
    { name: 'Firmware', text: '4.2.1' },
    { name: 'Profile version', text: '–' },
    { name: 'Is roaming', text: 'No' },
    { name: 'Bands', text: 'B3, B20' },
    { name: 'S', text: '1' },
    { name: 'Last error', text: '' },
    { name: 'Modem, signal', text: '70 %' },
  ])
})

test('says what a firmware update installs, and which profile a job applies', () => {
  const image = { version: '4.4.0', url: 'https://downloads.example.com/rf-520.bin?redacted', sizeBytes: 98_304 }
  expect(firmwareWords(image)).toEqual({ name: 'Firmware 4.4.0', text: '98.3 kB from downloads.example.com' })
  expect(firmwareWords({ version: '4.4.0' })).toEqual({ name: 'Firmware 4.4.0', text: '' })
  expect(firmwareWords({ delayS: 5 })).toBeUndefined()
  expect(profileIn({ profile: { id: 'a', version: 3 } })).toEqual({ id: 'a', version: 3 })
  for (const parameters of [{}, { profile: null }, { profile: 'a' }, { profile: { id: 1, version: 3 } }])
    expect(profileIn(parameters)).toBeUndefined()
})
