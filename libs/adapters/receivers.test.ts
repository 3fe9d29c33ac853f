import { describe, expect, test } from 'vitest'
import { adapterHeadOf } from './adapter.ts'
import { adapterOf } from './adapters.ts'
import type { SourceName } from './source-names.ts'

const receivedAtMs = Date.UTC(2026, 4, 4, 12, 36)
const head = adapterHeadOf({ url: '/', headers: {} })

function read(source: SourceName, body: string) {
  const translated = adapterOf(source).translate(Buffer.from(body), head, receivedAtMs)
  if (!translated.ok) throw new Error(translated.detail)
  const { envelope, rejected, dropped } = translated
  return { samples: envelope ? JSON.parse(envelope.toString()).samples : [], rejected, dropped }
}

/** Returns the sentence with its checksum. */
function sentence(text: string): string {
  let sum = 0
  for (const character of text) sum ^= character.charCodeAt(0)
  return `$${text}*${sum.toString(16).padStart(2, '0').toUpperCase()}`
}

describe('nmea', () => {
  const rmc = sentence('GPRMC,123519.00,A,4807.038,N,01131.000,E,022.4,084.4,040526,,,A')
  const gga = sentence('GNGGA,123519.00,4807.0380,N,01131.0000,E,1,08,0.9,545.4,M,46.9,M,,')
  const gsa = sentence('GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1')

  test('the sentences of one time are one position', () => {
    const { samples, rejected } = read('nmea', `${gga}\r\n${gsa}\r\n${rmc}\r\n`)
    const tsMs = Date.UTC(2026, 4, 4, 12, 35, 19)
    expect(samples).toEqual([
      {
        ...{ kind: 'location', ts: tsMs, fixTs: tsMs, lat: 48.1173, lon: 11.516666667, fix: '3d', source: 'gnss' },
        ...{ altitudeM: 545.4, satellites: 8, hdop: 0.9, speedMps: 11.5235555556, headingDeg: 84.4 },
      },
    ])
    expect(rejected).toEqual([])
  })

  test('a wrong or missing checksum rejects the line only; another sentence is counted', () => {
    const { samples, rejected, dropped } = read(
      'nmea',
      [rmc.replace('4807', '4808'), rmc.replace(/\*..$/, ''), sentence('GPGSV,1,1,00'), gga].join('\n'),
    )
    expect(rejected.map(({ index }) => index)).toEqual([0, 1])
    expect(samples).toHaveLength(1)
    expect(dropped).toEqual([{ field: 'GSV', reason: 'unmapped', count: 1 }])
  })

  test('without a date, the day is the nearest one', () => {
    const [late] = read('nmea', sentence('GPGGA,235900,4807.038,S,01131.000,W,1,08,0.9,5,M,46.9,M,,')).samples
    expect(late).toMatchObject({ ts: Date.UTC(2026, 4, 4, 23, 59), lat: -48.1173, lon: -11.516666667 })
    const [early] = read('nmea', sentence('GPGGA,003600,4807.038,N,01131.000,E,1,08,0.9,5,M,46.9,M,,')).samples
    expect(early.ts).toBe(Date.UTC(2026, 4, 4, 0, 36))
  })

  test('a receiver without a fix has no position and no time', () => {
    expect(read('nmea', sentence('GPRMC,000000.00,V,,,,,,,060180,,,N')).samples).toEqual([
      { kind: 'location', fix: 'none', source: 'gnss' },
    ])
  })
})

test('gpsd: satellites join the next position; a position without a fix has no time', () => {
  const lines = [
    { class: 'VERSION', release: '3.25' },
    { class: 'SKY', hdop: 1.2, uSat: 9 },
    {
      class: 'TPV',
      mode: 3,
      time: '2026-05-04T12:30:00.000Z',
      lat: 50.07,
      lon: 14.46,
      altMSL: 257.3,
      track: 320.5,
      eph: 9.5,
    },
    { class: 'TPV', mode: 1, time: '2080-01-06T00:00:00.000Z' },
  ]
  const tsMs = Date.UTC(2026, 4, 4, 12, 30)
  expect(read('gpsd', `${lines.map((line) => JSON.stringify(line)).join('\n')}\nbroken`)).toMatchObject({
    samples: [
      {
        ts: tsMs,
        fixTs: tsMs,
        fix: '3d',
        lat: 50.07,
        lon: 14.46,
        altitudeM: 257.3,
        accuracyM: 9.5,
        hdop: 1.2,
        satellites: 9,
      },
      { kind: 'location', fix: 'none', source: 'gnss' },
    ],
    rejected: [{ index: 4, code: 'invalid_sample' }],
  })
})

test('cradlepoint: a line has a position and a signal', () => {
  const line = '352099001761481,122658,4333.62404,N,11636.23469,W,10.0,277.2,Verizon,LTE,-107,-74,-16,,100.68.169.178'
  const ts = Date.UTC(2026, 4, 4, 12, 26, 58)
  expect(read('cradlepoint', `${line}\nnonsense`)).toMatchObject({
    samples: [
      { kind: 'location', ts, fixTs: ts, lat: 43.560400667, lon: -116.6039115, headingDeg: 277.2, source: 'gnss' },
      { kind: 'cellular', ts, operatorName: 'Verizon', rat: 'lte', rsrpDbm: -107, rssiDbm: -74, rsrqDb: -16 },
      { kind: 'connection', ts, wanIp: '100.68.169.178' },
    ],
    rejected: [{ index: 1 }],
  })
})
