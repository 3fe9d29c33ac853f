import { describe, expect, test } from 'vitest'
import { fieldMissing, readField } from '#test/field'
import { adapterHeadOf } from './adapter.ts'
import { adapterOf } from './adapters.ts'
import type { SourceName } from './source-names.ts'

const receivedAtMs = Date.UTC(2026, 4, 4, 12, 36)
const head = adapterHeadOf({ url: '/', headers: {} })

function read(source: SourceName, body: string, atMs = receivedAtMs) {
  const translated = adapterOf(source).translate(Buffer.from(body), head, atMs)
  if (!translated.ok) throw new Error(translated.detail)
  const { envelope, rejected, dropped, corrected } = translated
  return { samples: envelope ? JSON.parse(envelope.toString()).samples : [], rejected, dropped, corrected }
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

  test.each([
    ['\u00b5b\u0001\u0007', ''],
    ['$GPGGA,1235', ''],
    ['\0\0', '\0'],
    ['\\s:GPS1,c:1762400000*hh\\', ''],
  ])('a sentence after %j is read', (before, after) => {
    const { samples, rejected } = read('nmea', `${gga}\n${before}${rmc}${after}`)
    expect(samples).toMatchObject([{ satellites: 8, headingDeg: 84.4 }])
    expect(rejected).toEqual([])
  })

  test('without a date, the day is the nearest one', () => {
    const afterMidnightMs = Date.UTC(2026, 4, 5, 0, 10)
    const south = sentence('GPGGA,235900,4807.038,S,01131.000,W,1,08,0.9,5,M,46.9,M,,')
    const [late] = read('nmea', south, afterMidnightMs).samples
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

const rmcOf = (hhmmss: string, ddmmyy: string, status = 'A', degrees = 50) =>
  sentence(`GNRMC,${hhmmss},${status},${degrees}00.0000,N,00800.0000,W,12.3,45.0,${ddmmyy},,,A`)
const ggaOf = (hhmmss: string) => sentence(`GNGGA,${hhmmss},5000.0000,N,00800.0000,W,1,08,0.9,5,M,46.9,M,,`)
const at = (day: number, hours: number, minutes = 0, seconds = 0) => Date.UTC(2026, 4, day, hours, minutes, seconds)

describe('dates of an nmea upload', () => {
  const timesOf = (lines: string[]) => read('nmea', lines.join('\n')).samples.map(({ ts }: { ts?: number }) => ts)

  test('one time of day on several days: each sentence is of the date that follows it', () => {
    const days = [2, 3, 4].flatMap((day) => [ggaOf('100000'), rmcOf('100000', `0${day}0526`, 'A', 50 + day)])
    const { samples } = read('nmea', days.join('\n'))
    expect(samples).toMatchObject([2, 3, 4].map((day) => ({ ts: at(day, 10), satellites: 8, headingDeg: 45 })))
  })

  test('a moment without a fix keeps its own date', () => {
    const lines = [rmcOf('100000', '020526'), rmcOf('110000', '020526', 'V'), rmcOf('120000', '010180', 'V')]
    const { samples } = read('nmea', lines.join('\n'))
    expect(samples).toMatchObject([{ ts: at(2, 10) }, { ts: at(2, 11), fix: 'none' }, { fix: 'none' }])
    expect(samples[1]).not.toHaveProperty('fixTs')
    expect(samples[2]).not.toHaveProperty('ts')
  })

  test.each<[string, string[], (number | undefined)[]]>([
    [
      'each RMC has its own',
      [rmcOf('100000', '020526'), rmcOf('100000', '030526', 'A', 51), rmcOf('100000', '040526', 'A', 52)],
      [at(2, 10), at(3, 10), at(4, 10)],
    ],
    [
      'GGA has that of the RMC of its moment, before or after it',
      [ggaOf('235959'), rmcOf('235959', '020526'), ggaOf('000000'), rmcOf('000000', '030526')],
      [at(2, 23, 59, 59), at(3, 0)],
    ],
    [
      'a GGA alone follows the moment before it over midnights',
      [rmcOf('200000', '010526'), ggaOf('060000'), ggaOf('160000'), ggaOf('020000')],
      [at(1, 20), at(2, 6), at(2, 16), at(3, 2)],
    ],
    [
      'moments before the first date go back from it',
      [ggaOf('233000'), ggaOf('003000'), rmcOf('010000', '030526')],
      [at(2, 23, 30), at(3, 0, 30), at(3, 1)],
    ],
    [
      'a GGA after a pause of more than half a day is not before its RMC',
      [rmcOf('100000', '010526'), ggaOf('233000'), ggaOf('223500'), ggaOf('223400')],
      [at(1, 10), at(1, 23, 30), at(1, 22, 35), at(1, 22, 34)],
    ],
    [
      'a GGA of more than an hour earlier in the day is of the next day',
      [rmcOf('100000', '010526'), ggaOf('085900')],
      [at(1, 10), at(2, 8, 59)],
    ],
    [
      'a step back of sentences out of order crosses midnight',
      [rmcOf('000500', '020526'), ggaOf('235900'), ggaOf('000600')],
      [at(2, 0, 5), at(1, 23, 59), at(2, 0, 6)],
    ],
    [
      'no GGA is later than the receipt because it is out of order',
      [rmcOf('100000', '040526'), ggaOf('081500'), ggaOf('100001')],
      [at(4, 10), at(4, 8, 15), at(4, 10, 0, 1)],
    ],
    [
      'moments long before the first date are not after it',
      [ggaOf('200000'), ggaOf('213000'), rmcOf('080000', '030526')],
      [at(2, 20), at(2, 21, 30), at(3, 8)],
    ],
    [
      'ZDA dates the moments after it',
      [sentence('GPZDA,080000.00,02,05,2026,00,00'), ggaOf('080000'), ggaOf('080001')],
      [at(2, 8), at(2, 8, 0, 1)],
    ],
    [
      'a wrong date spoils its own moment only',
      [rmcOf('100000', '030526'), rmcOf('100010', '040580'), ggaOf('100020')],
      [at(3, 10), Date.UTC(1980, 4, 4, 10, 0, 10), at(3, 10, 0, 20)],
    ],
    [
      'a date of a receiver without a fix, last in the body, moves nothing',
      [rmcOf('100000', '030526'), rmcOf('100010', '060180', 'V')],
      [at(3, 10), undefined],
    ],
  ])('%s', (_, lines, times) => {
    expect(timesOf(lines)).toEqual(times)
  })

  test('the three days of the field', ({ skip }) => {
    if (fieldMissing !== null) return skip(fieldMissing)
    const { samples } = read('nmea', readField('nmea-three-days.txt'), Date.UTC(2026, 10, 26, 11))
    expect(samples.map(({ ts, lat }: { ts: number; lat: number }) => [new Date(ts).toISOString(), lat])).toEqual([
      ['2026-11-24T10:00:00.000Z', 50],
      ['2026-11-25T10:00:00.000Z', 51],
      ['2026-11-26T10:00:00.000Z', 52],
    ])
  })
})

describe('nmea: a cycle that begins with sentences without a time', () => {
  const vtg = (knots: number) => sentence(`GNVTG,45.0,T,,M,${knots}.0,N,,K,A`)
  const gsa = (hdop: number) => sentence(`GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,${hdop},2.1`)
  const fix = (second: number) => sentence(`GNGGA,10000${second},5000.0000,N,00800.0000,W,1,08,,5,M,46.9,M,,`)

  test.each([
    ['VTG, GSA, GGA', (n: number) => [vtg(n), gsa(n), fix(n)]],
    ['GSA of several constellations', (n: number) => [gsa(n), gsa(9), gsa(9), vtg(n), fix(n)]],
    ['GSA, GGA, VTG', (n: number) => [gsa(n), fix(n), vtg(n)]],
    ['GGA, VTG, GSA', (n: number) => [fix(n), vtg(n), gsa(n), gsa(9)]],
  ])('%s: each position has its own speed and dilution', (_, cycle) => {
    const { samples } = read('nmea', [1, 2, 3].flatMap(cycle).join('\n'))
    expect(samples).toMatchObject(
      [1, 2, 3].map((n) => ({ ts: at(4, 10, 0, n), hdop: n, speedMps: expect.closeTo(n * 0.5144, 3), fix: '3d' })),
    )
  })

  test('one time of day on several days, with VTG between', () => {
    const days = [2, 3, 4].flatMap((day) => [ggaOf('100000'), vtg(day), rmcOf('100000', `0${day}0526`)])
    const first = [2, 3, 4].flatMap((day) => [vtg(day), ggaOf('100000'), rmcOf('100000', `0${day}0526`)])
    for (const lines of [days, first])
      expect(read('nmea', lines.join('\n')).samples).toMatchObject(
        [2, 3, 4].map((day) => ({ ts: at(day, 10), satellites: 8, headingDeg: 45 })),
      )
  })
})

test('nmea: the forms of receivers', () => {
  const precise = sentence('GNGGA,123519.123456789,4807.038000000012,N,01131.000000000012,E,4,08,0.9,545.4,M,46.9,M,,')
  const { samples, rejected, dropped } = read('nmea', `${sentence('PUBX,00,1')}\n${sentence('PMTK001,1')}\n${precise}`)
  expect(samples).toMatchObject([{ ts: at(4, 12, 35, 19) + 123, lat: 48.1173, lon: 11.516666667 }])
  expect(rejected).toEqual([])
  expect(dropped).toEqual([{ field: 'proprietary', reason: 'unmapped', count: 2 }])
  const broken = sentence('PUBX,00,1').replace('00', '01')
  expect(read('nmea', `${broken}\n${precise}`).rejected).toMatchObject([{ index: 0 }])
  const invalid = sentence('GNRMC,123519.00,A,4807.038,N,01131.000,E,0,0,040526,,,N')
  expect(read('nmea', invalid).samples).toMatchObject([{ fix: 'none' }])
})

test.each([
  ['123519', '4807', 0],
  ['123519.', '4807.', 0],
  [`123519.${'9'.repeat(60)}`, '4807.0000', 1_000],
])('nmea: the time %s and the latitude %s', (time, latitude, ms) => {
  const text = sentence(`GNGGA,${time},${latitude},N,01131.000000000000,E,1,08,0.9,545.4,M,46.9,M,,`)
  expect(read('nmea', text).samples).toMatchObject([{ ts: at(4, 12, 35, 19) + ms, lat: 48.116666667 }])
})

test('nmea: tag blocks, and lines that end with a carriage return alone', () => {
  const lines = [ggaOf('100000'), rmcOf('100000', '040526'), ggaOf('100001')]
  const plain = read('nmea', lines.join('\n'))
  expect(plain.samples).toHaveLength(2)
  expect(read('nmea', lines.map((line, n) => `\\g:${n}-3-7,s:GPS1,c:1777888800*5A\\${line}`).join('\r'))).toEqual(plain)
})

test.each(['GLL,4807.038,N,01131.000,E,123519,A,N', 'GNS,123519,4807.038,N,01131.000,E,NN,00,99.9,5,46.9,,'])(
  'nmea: the mode of %s says that the position is not valid',
  (text) => {
    expect(read('nmea', sentence(`GN${text}`)).samples).toMatchObject([{ fix: 'none', lat: 48.1173 }])
  },
)

/** A request of OTLP with a gauge for each field of a location. */
const metrics = (values: Record<string, unknown>) =>
  JSON.stringify({
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            metrics: Object.entries(values).map(([name, asDouble]) => ({
              name: `location.${name}`,
              gauge: { dataPoints: [{ asDouble }] },
            })),
          },
        ],
      },
    ],
  })

test.each([
  ['nmea', sentence('GPGGA,123519,4807.038,N,01131.000,E,9,08,0.9,5,M,46.9,M,,'), { fix: 'unknown' }],
  ['nmea', sentence('GPGGA,123519,4807.038,N,01131.000,E,1,08,bad,5,M,46.9,M,,'), { hdop: 'unknown' }],
  ['gpsd', JSON.stringify({ class: 'TPV', mode: 7, lat: 1, lon: 2 }), { fix: 'unknown' }],
  ['gpsd', JSON.stringify({ class: 'TPV', mode: 3, lat: 1, lon: 2, eph: 'far' }), { fix: '3d', accuracyM: 'unknown' }],
  ['teltonika', JSON.stringify({ latitude: 1, longitude: 2, accuracy: 'N/A' }), { accuracyM: 'unknown' }],
  ['inhand', JSON.stringify({ 'gnss.latitude': 1, 'gnss.longitude': 2, 'gnss.hdop': {} }), { hdop: 'unknown' }],
  ['gpsd', JSON.stringify({ class: 'TPV', mode: 3, lat: 1, lon: 2, eph: 1e300 }), { accuracyM: 'unknown' }],
  ['gpsd', '{"class":"SKY","hdop":"n/a"}\n{"class":"TPV","mode":3,"lat":1,"lon":2}', { fix: '3d', hdop: 'unknown' }],
  ['teltonika', JSON.stringify({ latitude: 1, longitude: 2, accuracy: 1e300 }), { accuracyM: 'unknown' }],
  ['influx', 'location lat=1,lon=2,accuracyM=1e300', { accuracyM: 'unknown' }],
  ['influx', 'location lat=1,lon=2,hdop=t', { hdop: 'unknown' }],
  ['influx', `location lat=1,lon=2,fix="${'3'.repeat(257)}"`, { fix: 'unknown' }],
  ['influx', 'location lat=1,lon=2,fixTs=1790000000123456789', { fixTs: 'unknown' }],
  ['influx', 'location lat=1,lon=2,ageMs=1e300', { ageMs: 'unknown' }],
  ['influx', 'cellular rsrpDbm=-90,lat=1,lon=2,fixAgeMs=1e300', { rsrpDbm: -90, fixAgeMs: 'unknown' }],
  ['otlp', metrics({ lat: 1, lon: 2, accuracyM: 'NaN' }), { lat: 1, accuracyM: 'unknown' }],
  ['otlp', metrics({ hdop: 1e300, lat: 1, lon: 2 }), { lon: 2, hdop: 'unknown' }],
  ['otlp', metrics({ accuracyM: undefined, lat: 1, lon: 2 }), { lat: 1, accuracyM: 'unknown' }],
] as const)('%s: a quality that cannot be read is unknown, not good: %s', (source, body, quality) => {
  expect(read(source, body).samples[0]).toMatchObject(quality)
})

describe('a wrong clock', () => {
  const week = 7 * 86_400_000
  const seconds = (ms: number) => Math.round(ms / 1_000)
  const lineOf = (measurement: string, ms: number) => `${measurement} cpuPct=1 ${ms}000000`
  const rolled = new Date(receivedAtMs - 1_024 * week).toISOString()

  test.each<[SourceName, string, string]>([
    ['gpsd', JSON.stringify({ class: 'TPV', mode: 3, time: rolled, lat: 1, lon: 2 }), 'week_rollover'],
    ['gpsd', JSON.stringify({ class: 'TPV', mode: 3, time: '1999-08-22T00:00:00Z', lat: 1, lon: 2 }), 'before_2020'],
    ['teltonika', JSON.stringify({ uptime: 1, timestamp: 1_200 }), 'before_2020'],
    ['teltonika', JSON.stringify({ uptime: 1, timestamp: 0 }), 'before_2020'],
    ['teltonika', JSON.stringify({ uptime: 1, timestamp: seconds(receivedAtMs) + 3_600 }), 'ahead'],
    ['inhand', JSON.stringify({ 'gnss.ts': 900, 'gnss.latitude': 1, 'gnss.longitude': 2 }), 'before_2020'],
    ['influx', lineOf('system', receivedAtMs - 2_048 * week), 'week_rollover'],
    ['influx', 'system cpuPct=1 5', 'before_2020'],
    ['cradlepoint', 'r1,000000,3613.25,N,11559.14,W,0.0,,Verizon,LTE,-90,-60,-9,,10.0.0.1', 'before_2020'],
  ])('of %s in %s: %s', (source, body, reason) => {
    const { samples, corrected } = read(source, body, source === 'cradlepoint' ? at(3, 23, 50) : receivedAtMs)
    for (const sample of samples) {
      expect(sample).toMatchObject({ ts: source === 'cradlepoint' ? at(3, 23, 50) : receivedAtMs, tsCorrected: true })
      if ('fixTs' in sample) expect(sample.fixTs).toBe(sample.ts)
    }
    expect(corrected).toEqual([{ reason, count: samples.length }])
  })

  test.each<[string, number | undefined, number, string[]]>([
    [`"${rolled}"`, undefined, 0, ['week_rollover']],
    [`"${receivedAtMs - 2_048 * week - 5_000}"`, undefined, -5_000, ['week_rollover']],
    [`${receivedAtMs - 1_024 * week - 5_000}`, receivedAtMs, -5_000, ['week_rollover']],
    [`"${rolled}"`, receivedAtMs - 1_024 * week, 0, ['week_rollover']],
    [`"${rolled}"`, 5_000, 0, ['week_rollover', 'before_2020']],
    [`${receivedAtMs}`, receivedAtMs - 1_024 * week, 0, ['week_rollover']],
    [`"${new Date(4_000).toISOString()}"`, 5_000, -1_000, ['before_2020']],
  ])('the time %s of a fix, in a sample of %s, is corrected', (fixTs, ts, fixMs, reasons) => {
    const time = ts === undefined ? '' : ` ${ts}000000`
    const { samples, corrected } = read('influx', `location lat=1,lon=2,fixTs=${fixTs}${time}`)
    expect(samples).toMatchObject([{ fixTs: receivedAtMs + fixMs, ...(ts === undefined ? {} : { ts: receivedAtMs }) }])
    expect(corrected).toEqual(reasons.map((reason) => ({ reason, count: 1 })))
  })

  test.each([
    ['s', '000000', '000000000'],
    ['ms', '000000', '000000'],
  ])(
    'a huge time, in nanoseconds with precision=%s, becomes the receipt to the millisecond',
    (precision, unit, fixUnit) => {
      const body = `location lat=1,lon=2,fixTs="${receivedAtMs}${fixUnit}" ${receivedAtMs}${unit}`
      const translated = adapterOf('influx').translate(
        Buffer.from(body),
        { ...head, query: `precision=${precision}` },
        receivedAtMs,
      )
      const { samples } = JSON.parse(String(translated.ok && translated.envelope))
      expect(samples).toMatchObject([{ ts: receivedAtMs, fixTs: receivedAtMs, tsCorrected: true }])
    },
  )

  const dayMs = 86_400_000

  test.each([
    [1_024, -dayMs, -dayMs, ['week_rollover']],
    [1_024, dayMs, 0, ['week_rollover', 'ahead']],
    [1_024, -dayMs - 1, 0, ['before_2020']],
    [1_024, dayMs + 1, 0, ['before_2020']],
    [2_048, -dayMs, -dayMs, ['week_rollover']],
    [2_048, 240_000, 240_000, ['week_rollover']],
    [2_048, dayMs, 0, ['week_rollover', 'ahead']],
    [2_048, -dayMs - 1, 0, ['before_2020']],
    [200, 0, 0, []],
  ])('a time of %i weeks ago and %i ms', (weeks, offsetMs, storedMs, reasons) => {
    const sentMs = receivedAtMs - weeks * week + offsetMs
    const { samples, corrected } = read('influx', lineOf('system', sentMs))
    expect(samples[0].ts).toBe(reasons.length === 0 ? sentMs : receivedAtMs + storedMs)
    expect(corrected).toEqual(reasons.map((reason) => ({ reason, count: 1 })))
  })

  test.each([
    [Date.UTC(2020, 0, 1), undefined],
    [Date.UTC(2020, 0, 1) - 1, 'before_2020'],
    [receivedAtMs + 300_000, undefined],
    [receivedAtMs + 300_001, 'ahead'],
  ])('the time %i of a single moment', (ms, reason) => {
    const { samples, corrected } = read('influx', lineOf('system', ms))
    expect(samples[0].ts).toBe(reason === undefined ? ms : receivedAtMs)
    expect(corrected).toEqual(reason === undefined ? [] : [{ reason, count: 1 }])
  })

  test('the days that a receiver has kept have all rolled over', () => {
    const dateOf = (day: number) => {
      const [year, month, date] = new Date(at(day, 10) - 1_024 * week).toISOString().slice(2, 10).split('-')
      return `${date}${month}${year}`
    }
    const lines = [rmcOf('100000', dateOf(-9)), ggaOf('100001'), rmcOf('100000', dateOf(1)), rmcOf('100000', dateOf(4))]
    const { samples, corrected } = read('nmea', lines.join('\n'), at(4, 10, 0, 5))
    expect(samples.map(({ ts }: { ts: number }) => ts)).toEqual([at(-9, 10), at(-9, 10, 0, 1), at(1, 10), at(4, 10)])
    expect(corrected).toEqual([{ reason: 'week_rollover', count: 3 }])
  })

  test('a right time of a fix stays as it was sent', () => {
    const sent = new Date(receivedAtMs - 5_000).toISOString()
    const { samples, corrected } = read('influx', `location lat=1,lon=2,fixTs="${sent}" ${receivedAtMs}000000`)
    expect(samples).toMatchObject([{ fixTs: sent, ts: receivedAtMs }])
    expect(corrected).toEqual([])
  })

  test.each([
    [8, 0],
    [8, 1],
    [12, 0],
    [23, 50],
  ])('a time of 0 of cradlepoint at %i:%i is that of receipt', (hour, minute) => {
    const line = 'r1,000000,3613.25,N,11559.14,W,0.0,,Verizon,LTE,-90,-60,-9,,10.0.0.1'
    const { samples } = read('cradlepoint', line, at(3, hour, minute))
    expect(samples.map(({ ts }: { ts: number }) => ts)).toEqual(samples.map(() => at(3, hour, minute)))
    const [location] = read('cradlepoint', line, at(3, 0, 1)).samples
    expect(location).toMatchObject({ ts: at(3, 0) })
  })

  test('times of one clock move together; the wrong date of one moment stays', () => {
    const read1970 = read('influx', [1, 61, 121].map((s) => lineOf('system', s * 1_000)).join('\n')).samples
    expect(read1970.map(({ ts }: { ts: number }) => receivedAtMs - ts)).toEqual([120_000, 60_000, 0])
    const ahead = [-5, 5, 15].map((minutes) => lineOf('system', receivedAtMs + minutes * 60_000)).join('\n')
    expect(read('influx', ahead).corrected).toEqual([{ reason: 'ahead', count: 3 }])
    const mixed = `${lineOf('system', 5_000)}\n${lineOf('system', receivedAtMs - 1_000)}`
    expect(read('influx', mixed)).toMatchObject({
      samples: [{ ts: 5_000 }, { ts: receivedAtMs - 1_000 }],
      corrected: [],
    })
    expect(read('influx', lineOf('system', receivedAtMs - 3_600_000)).corrected).toEqual([])
  })
})

test.each([
  [
    { SRVC_TYPE: '5G', SRVC_TYPE_DETAILS: 'SA - 5G Sub-6 GHz', RSRP_5G: '-88' },
    { rat: 'nr-sa', rsrpDbm: -88 },
  ],
  [
    { SRVC_TYPE: '5G', SRVC_TYPE_DETAILS: 'NSA - 5G Sub-6 GHz', RSRP: '-95', RSRP_5G: '-88' },
    { rat: 'nr-nsa', rsrpDbm: -95, nrRsrpDbm: -88 },
  ],
  [
    { SRVC_TYPE: '5G', SRVC_TYPE_DETAILS: 'None', RSRP_5G: '-88' },
    { rat: 'nr-sa', rsrpDbm: -88 },
  ],
  [
    {
      SRVC_TYPE: '5G SA',
      RSRP_5G: '-88',
      RSRQ_5G: '-11',
      SINR_5G: '20.0',
      RFBAND_5G: 'n41',
      CELL_ID: '12345',
      TAC: '77',
    },
    { rat: 'nr-sa', rsrpDbm: -88, rsrqDb: -11, sinrDb: 20, band: 'n41', cellId: '12345', tac: '77' },
  ],
  [
    { SRVC_TYPE: '5G NSA', RSRP: '-95', SINR: '4', RSRP_5G: '-90', RSRQ_5G: '-12', SINR_5G: '9', RFBAND_5G: 'n78' },
    { rat: 'nr-nsa', rsrpDbm: -95, sinrDb: 4, nrRsrpDbm: -90, nrRsrqDb: -12, nrSinrDb: 9, nrBand: 'n78' },
  ],
  [
    { SRVC_TYPE: '5G SA', RSRP: '-140', RSRP_5G: '-80' },
    { rat: 'nr-sa', rsrpDbm: -80 },
  ],
  [
    { SRVC_TYPE: 'None', DBM: '-113', CARRID: 'NONE', RFBAND: 'unknown', TAC: 'n/a' },
    { rat: 'none', rssiDbm: -113 },
  ],
])('cradlepoint: the service in %j', (diagnostics, cellular) => {
  expect(read('cradlepoint', JSON.stringify(diagnostics)).samples).toContainEqual({ kind: 'cellular', ...cellular })
})

/** The words of ModemManager by their numbers. */
const registrations = [
  ...['idle', 'home', 'searching', 'denied', 'unknown', 'roaming', 'home-sms-only', 'roaming-sms-only'],
  ...['emergency-only', 'home-csfb-not-preferred', 'roaming-csfb-not-preferred', 'attached-rlos'],
]
const states = [
  ...['unknown', 'initializing', 'locked', 'disabled', 'disabling', 'enabling', 'enabled', 'searching'],
  ...['registered', 'disconnecting', 'connecting', 'connected'],
]

test.each([
  ['idle', 'not_registered'],
  ['home', 'home'],
  ['searching', 'searching'],
  ['denied', 'denied'],
  ['unknown', 'unknown'],
  ['roaming', 'roaming'],
  ['home-sms-only', 'home'],
  ['roaming-sms-only', 'roaming'],
  ['Emergency-Only', 'emergency_only'],
  ['home-csfb-not-preferred', 'home'],
  ['roaming-csfb-not-preferred', 'roaming'],
  ['attached-rlos', 'emergency_only'],
])('modemmanager: registration %s is %s, also as a number', (word, registration) => {
  const registrationOf = (state: unknown) =>
    read('modemmanager', JSON.stringify({ modem: { '3gpp': { 'registration-state': state } } })).samples.find(
      ({ kind }: { kind: string }) => kind === 'connection',
    ).registration
  const number = registrations.indexOf(word.toLowerCase())
  expect([word, number, String(number)].map(registrationOf)).toEqual(Array(3).fill(registration))
})

test.each([
  ['unknown', undefined],
  ['initializing', 'disconnected'],
  ['locked', 'failed'],
  ['disabled', 'disabled'],
  ['disabling', 'disabled'],
  ['enabling', 'disconnected'],
  ['enabled', 'disconnected'],
  ['searching', 'searching'],
  ['registered', 'registered'],
  ['disconnecting', 'disconnected'],
  ['connecting', 'connecting'],
  ['connected', 'connected'],
])('modemmanager: state %s is %s, also as a number', (word, state) => {
  const stateOf = (sent: unknown) =>
    read(
      'modemmanager',
      JSON.stringify({ modem: { generic: { state: sent }, '3gpp': { 'operator-code': '26201' } } }),
    ).samples.find(({ kind }: { kind: string }) => kind === 'connection').state
  expect([word, states.indexOf(word)].map(stateOf)).toEqual([state, state])
  expect(stateOf(-1)).toBe('failed')
})

test.each([
  [0, 'not_registered'],
  [7, 'roaming'],
  [8, 'emergency_only'],
  [9, 'home'],
  [11, 'emergency_only'],
])('inhand: registration %s is %s', (state, registration) => {
  const { samples } = read('inhand', JSON.stringify({ 'modem1.reg_status': state }))
  expect(samples[0]).toEqual({ kind: 'connection', modem: 'modem1', registration })
})

test.each([
  [{ tac: '00C3', lac: 'FFFE', cid: '0A4DF0B' }, '195'],
  [{ tac: '000000', lac: '1A2B', cid: '3039' }, '6699'],
  [{ lac: '0x1a2b', cid: '0x3039' }, '6699'],
  [{ tac: '--', lac: '--', cid: '3039' }, undefined],
])('modemmanager: the area of %j is %s', (location, tac) => {
  const body = JSON.stringify({ modem: { location: { '3gpp': { mcc: '262', mnc: '01', ...location } } } })
  expect(read('modemmanager', body).samples[0]?.tac).toBe(tac)
})

test.each<[SourceName, string]>([
  ['nmea', sentence('GPGSV,1,1,00')],
  ['nmea', 'nonsense'],
  ['gpsd', '{"class":"DEVICES"}'],
  ['cradlepoint', '{"MODEMOPMODE":"Online"}'],
  ['inhand', '{"modem1.imei":"1"}'],
  ['modemmanager', '{"modem":{"dbus-path":"/1"}}'],
  ['influx', 'system host="a"'],
  ['influx', 'location hdop=t'],
  ['gpsd', '{"class":"TPV","mode":7,"time":"2026-05-04T12:30:00.000Z"}'],
  ['otlp', metrics({ accuracyM: 'NaN' })],
])('%s refuses %s, because nothing in it was understood', (source, body) => {
  expect(() => read(source, body)).toThrow(/^(?:No field of the report was understood: |The report has no field)/)
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

test.each([
  ['Cellcom, Inc.,LTE,-107,-74,-16,,10.0.0.1', { operatorName: 'Cellcom, Inc.', rat: 'lte', rsrpDbm: -107 }],
  ['A, B, C,,-107,-74,-16,,10.0.0.1', { operatorName: 'A, B, C', rsrpDbm: -107 }],
  ['Verizon,LTE,-107,-74,-16,,10.0.0.1,more', { operatorName: 'Verizon', rat: 'lte', rsrpDbm: -107 }],
  [',,-107,-74,-16,,10.0.0.1,', { rsrpDbm: -107 }],
])('cradlepoint: the carrier of %s', (end, cellular) => {
  const { samples } = read('cradlepoint', `1,122658,4333.62404,N,11636.23469,W,10.0,277.2,${end}`)
  const ts = at(4, 12, 26, 58)
  expect(samples[1]).toEqual({ kind: 'cellular', ts, rssiDbm: -74, rsrqDb: -16, ...cellular })
  expect(samples[2]).toEqual({ kind: 'connection', ts, wanIp: '10.0.0.1' })
})

describe('gpsd', () => {
  const positionsOf = (...objects: object[]) =>
    read('gpsd', objects.map((object) => JSON.stringify(object)).join('\n')).samples
  const time = '2026-05-04T12:30:00.000Z'
  const tpv = (device: string, lat: number, more: object = {}) => ({
    class: 'TPV',
    device,
    mode: 3,
    time,
    lat,
    lon: 14.46,
    ...more,
  })

  test('before 3.20 has other names of the error and the satellites', () => {
    const satellites = [
      { PRN: 1, used: true },
      { PRN: 2, used: false },
      { PRN: 3, used: true },
    ]
    expect(
      positionsOf({ class: 'SKY', hdop: 1.2, satellites }, tpv('a', 50, { epx: 3, epy: 4, epv: 9 })),
    ).toMatchObject([{ lat: 50, accuracyM: 5, hdop: 1.2, satellites: 2 }])
    expect(positionsOf(tpv('a', 50, { epx: 'n/a', epy: 4 }))).toMatchObject([{ accuracyM: 'unknown' }])
    expect(positionsOf({ class: 'SKY', uSat: 7, satellites }, tpv('a', 50, { eph: 2, epx: 3, epy: 4 }))).toMatchObject([
      { accuracyM: 2, satellites: 7 },
    ])
  })

  test('with two receivers: the better fix of a time, with its own satellites', () => {
    const samples = positionsOf(
      { class: 'SKY', device: 'a', hdop: 9, uSat: 3 },
      { class: 'SKY', device: 'b', hdop: 1, uSat: 12 },
      tpv('a', 50, { mode: 2, speed: 30 }),
      tpv('b', 51, { eph: 2 }),
      { ...tpv('a', 50.1), time: '2026-05-04T12:30:01.000Z' },
    )
    expect(samples).toMatchObject([
      { lat: 51, fix: '3d', hdop: 1, satellites: 12, accuracyM: 2 },
      { lat: 50.1, fix: '3d' },
    ])
    expect(samples[0]).not.toHaveProperty('speedMps')
    expect(samples[1]).not.toHaveProperty('hdop')
  })
})

test('modemmanager: the RSSI of 5G alone', () => {
  const body = JSON.stringify({ modem: { signal: { '5g': { rssi: '-60', rsrp: '-90' }, lte: { rssi: '--' } } } })
  expect(read('modemmanager', body).samples).toEqual([{ kind: 'cellular', rat: 'nr-sa', rssiDbm: -60, rsrpDbm: -90 }])
})

test.each([
  ['GNGST,123519.00,,,,,nan,nan,3', 'accuracyM'],
  ['GNGNS,123519.00,4807.0380,N,01131.0000,E,XX,08,0.9,545.4,46.9,,', 'fix'],
])('what a receiver sent as unknown is unknown, not left out: %s', (text, field) => {
  const gga = sentence('GNGGA,123519.00,4807.0380,N,01131.0000,E,,08,0.9,545.4,M,46.9,M,,')
  const { samples } = read('nmea', `${gga}\n${sentence(text)}`)
  expect(samples).toMatchObject([{ kind: 'location', [field]: 'unknown' }])
})

test('letters of a position are read in any case', () => {
  const lower = read('nmea', sentence('GNGNS,123519,4807.038,s,01131.000,w,an,08,0.9,5,46.9,,')).samples
  expect(lower).toMatchObject([{ lat: -48.1173, lon: -11.516666667 }])
  expect(lower[0]).not.toHaveProperty('fix')
  expect(read('nmea', sentence('GNGNS,123519,4807.038,n,01131.000,e,nn,08,0.9,5,46.9,,')).samples).toMatchObject([
    { lat: 48.1173, lon: 11.516666667, fix: 'none' },
  ])
  const line = '1,122658,4333.62404,n,11636.23469,w,10.0,277.2,Verizon,LTE,-107,-74,-16,,100.68.169.178'
  expect(read('cradlepoint', line).samples[0]).toMatchObject({ lat: 43.560400667, lon: -116.6039115 })
})

test('cradlepoint: identifiers with their hexadecimal digits', () => {
  const body = { CELL_ID: '12345 (0x3039)', TAC: '77 (0x4D)', PHY_CELL_ID: '263 (0x107)' }
  expect(read('cradlepoint', JSON.stringify(body)).samples).toMatchObject([{ cellId: '12345', tac: '77', pci: 263 }])
})

describe('bodies of a hostile sender take little time', () => {
  const takesMs = (source: SourceName, body: string) => {
    const startedMs = performance.now()
    adapterOf(source).translate(Buffer.from(body), head, receivedAtMs)
    return performance.now() - startedMs
  }

  test.each<[SourceName, string, (count: number) => string]>([
    [
      'gpsd',
      'satellites of many receivers',
      (count) =>
        Array.from(
          { length: count },
          (_, device) => `{"class":"SKY","device":${device},"uSat":1}\n{"class":"TPV"}`,
        ).join('\n'),
    ],
    [
      'cradlepoint',
      'a long service',
      (count) => JSON.stringify({ RSRP_5G: -90, SRVC_TYPE: `${'5G '.repeat(5 * count)}NSA` }),
    ],
  ])('%s: %s', (source, _what, bodyOf) => {
    // Of three, because other processes take their time, too.
    const leastMs = (count: number) => Math.min(...[1, 2, 3].map(() => takesMs(source, bodyOf(count))))
    expect(leastMs(16_000)).toBeLessThan(200 + 64 * leastMs(1_000))
  })
})
