import { describe, expect, test } from 'vitest'
import type { AdapterHead } from '../adapter.ts'
import { openwisp } from './adapter.ts'

const receivedAtMs = Date.UTC(2026, 10, 23, 1, 2, 5)

const headWith = (query: string): AdapterHead => ({
  path: '/adapters/openwisp/api/v1/monitoring/device/0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f/',
  query,
  authorization: undefined,
  mediaType: 'application/json',
})

function translate(report: unknown, query = 'key=k&time=23-11-2026_01:02:03.000000') {
  const body = Buffer.from(typeof report === 'string' ? report : JSON.stringify(report))
  const translated = openwisp.translate(body, headWith(query), receivedAtMs)
  if (!translated.ok) return { refused: translated }
  const { envelope, dropped, corrected } = translated
  const { samples, sentAt } = envelope ? JSON.parse(envelope.toString()) : { samples: [], sentAt: undefined }
  const of = (kind: string) => samples.find((sample: { kind: string }) => sample.kind === kind)
  return { samples, sentAt, of, corrected, dropped: dropped.map(({ field, reason }) => `${reason} ${field}`).sort() }
}

const monitoring = (members: object) => ({ type: 'DeviceMonitoring', ...members })

const modem = (mobile: object, members: object = {}) =>
  monitoring({ interfaces: [{ name: 'wwan0', type: 'modem-manager', mobile, ...members }] })

test('maps the resources of the router', () => {
  const { samples } = translate(
    monitoring({
      general: { uptime: 3_600 },
      resources: {
        load: [0.37, 0.95, 1.23],
        memory: { total: 1_000, free: 100, available: 750 },
        disk: [
          { mount_point: '/rom', used_percent: 100 },
          { mount_point: '/overlay', used_percent: 12 },
        ],
      },
    }),
  )
  expect(samples).toEqual([
    {
      kind: 'system',
      ts: Date.UTC(2026, 10, 23, 1, 2, 3),
      uptimeS: 3_600,
      load1: 0.37,
      memUsedPct: 25,
      diskUsedPct: 12,
    },
  ])
})

test('maps the interface of the modem', () => {
  const { of } = translate(
    modem(
      { connection_status: 'registered', operator_code: '50502', operator_name: 'YES OPTUS' },
      { statistics: { rx_bytes: 10, tx_bytes: 20 }, addresses: [{ address: '100.64.0.7', family: 'ipv4' }] },
    ),
  )
  expect(of?.('connection')).toMatchObject({
    interface: 'wwan0',
    state: 'registered',
    plmn: '50502',
    operatorName: 'YES OPTUS',
    rxBytes: 10,
    txBytes: 20,
    wanIp: '100.64.0.7',
  })
})

test.each([
  [[{ address: 'fe80::1' }, { address: '169.254.3.4' }, { address: '100.64.0.7' }], '100.64.0.7'],
  [[{ address: 'FE80::1' }, { address: 'fe00::7' }], 'fe00::7'],
  [[{ address: '2001:db8::7' }, { address: '10.0.0.7' }], '2001:db8::7'],
  [[{ address: 'fe80::1' }], undefined],
  [[], undefined],
])('of the addresses %j, the first that is not link-local is used', (addresses, wanIp) => {
  expect(translate(modem({}, { addresses })).of?.('connection')?.wanIp).toBe(wanIp)
})

test.each([
  [{ lte: { rsrp: -92, rsrq: -9, rssi: -64, snr: 19.2 } }, { rat: 'lte', rsrpDbm: -92, sinrDb: 19.2, rssiDbm: -64 }],
  [
    { lte: { rsrp: -92 }, '5g': { rsrp: -100, rsrq: -11, snr: 4 } },
    { rat: 'nr-nsa', rsrpDbm: -92, nrRsrpDbm: -100, nrRsrqDb: -11, nrSinrDb: 4 },
  ],
  [{ '5g': { rsrp: -100, rsrq: -11, snr: 4 } }, { rat: 'nr-sa', rsrpDbm: -100, rsrqDb: -11, sinrDb: 4 }],
  [
    { umts: { rssi: -80 }, lte: { rsrp: '--' } },
    { rat: 'umts', rssiDbm: -80 },
  ],
  [{ gsm: { rssi: -70 } }, { rat: 'gsm', rssiDbm: -70 }],
])('maps the signal %j', (signal, expected) => {
  const { of } = translate(modem({ signal }))
  const fields = of?.('cellular') ?? {}
  expect(fields).toMatchObject(expected)
  expect('nrRsrpDbm' in fields).toBe(expected.rat === 'nr-nsa')
})

test('maps every modem by the name of its interface, and adds up the clients of all radios', () => {
  const { samples, dropped } = translate(
    monitoring({
      interfaces: [
        { name: 'wlan0', wireless: { clients: [{}, {}] } },
        { name: 'wwan0', mobile: { connection_status: 'searching', signal: { gsm: { rssi: -90 } } } },
        { name: 'wwan1', mobile: { connection_status: 'connected', signal: { lte: { rsrp: -92 } } } },
        { name: 'wlan1', wireless: { clients: [{}] } },
      ],
    }),
  )
  expect(samples).toMatchObject([
    { kind: 'system', clients: 3 },
    { kind: 'cellular', modem: 'wwan0', rat: 'gsm', rssiDbm: -90 },
    { kind: 'connection', modem: 'wwan0', interface: 'wwan0', state: 'searching' },
    { kind: 'cellular', modem: 'wwan1', rat: 'lte', rsrpDbm: -92 },
    { kind: 'connection', modem: 'wwan1', interface: 'wwan1', state: 'connected' },
  ])
  expect(dropped).toEqual(['unmapped interfaces.name'])
})

test('drops and counts what has no mapping or no usable value', () => {
  const { of, dropped } = translate(
    modem({
      imei: '300000001234567',
      connection_status: 'dreaming',
      signal: { lte: { rsrp: 'x', rsrq: -10, snr: '--' } },
    }),
  )
  expect(of?.('cellular')).toMatchObject({ rsrqDb: -10 })
  expect(of?.('cellular')).not.toHaveProperty('rsrpDbm')
  expect(dropped).toEqual([
    'unmapped interfaces.mobile.imei',
    'unusable interfaces.mobile.connection_status',
    'unusable interfaces.mobile.signal.lte.rsrp',
  ])
  const general = { uptime: 1 }
  expect(translate(monitoring({ general, interfaces: { wwan0: {} } })).dropped).toEqual(['unusable interfaces'])
  expect(translate(monitoring({ general, interfaces: [null] })).dropped).toEqual(['unusable interfaces'])
  expect(translate(monitoring({ general, interfaces: null })).dropped).toEqual([])
})

describe('the time', () => {
  const withTime = (query: string) => translate(monitoring({ general: { uptime: 1 } }), query)

  test('of a buffered report is kept', () => {
    const { samples, sentAt } = withTime('key=k&time=22-11-2026_23:00:00.500000')
    expect([samples?.[0].ts, sentAt]).toEqual([Date.UTC(2026, 10, 22, 23, 0, 0, 500), undefined])
  })

  test('of a current report tells that the clock of the router is wrong', () => {
    expect(withTime('key=k&time=23-11-2026_01:02:03.000000&current=true').sentAt).toBeUndefined()
    const wrong = withTime('key=k&time=01-01-2026_00:00:00.000000&current=true')
    expect([wrong.samples?.[0].ts, wrong.sentAt]).toEqual([Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1)])
  })

  test.each([
    ['01-01-1970_00:05:00', 'before_2020'],
    ['10-04-2007_01:02:00', 'week_rollover'],
    ['24-11-2026_01:02:00', 'ahead'],
  ])('%s of a current report is counted as %s', (time, reason) => {
    const { samples, sentAt, corrected } = withTime(`key=k&time=${time}&current=true`)
    expect(sentAt).toBe(samples?.[0].ts)
    expect(corrected).toEqual([{ reason, count: 1 }])
  })

  test('of a report that was kept is not that of receipt, and only a rollover is undone', () => {
    const kept = withTime('key=k&time=01-01-1970_00:05:00&current=false')
    expect([kept.samples?.[0].ts, kept.corrected]).toEqual([300_000, []])
    expect(withTime('key=k&time=08-04-2007_13:00:00').samples?.[0].ts).toBe(Date.UTC(2026, 10, 22, 13))
  })

  test('may be missing', () => {
    expect(withTime('key=k').samples).toEqual([{ kind: 'system', uptimeS: 1 }])
  })

  test.each(['2026-11-23', '31-02-2026_00:00:00', '23-11-2026_25:00:00.000000', ''])('%j is refused', (time) => {
    expect(withTime(`key=k&time=${time}`).refused).toMatchObject({ status: 400 })
  })
})

test.each(['', '[]', '{', 'null', '{"type":"Other"}', `${'['.repeat(200)}`])('refuses the body %j', (body) => {
  expect(translate(body).refused).toMatchObject({ ok: false, status: 400 })
})

test('reads a report of the largest size in bounded work', () => {
  const members = Array.from({ length: 40_000 }, (_, index) => `"member${index}":{"a":1}`)
  const { dropped } = translate(`{"type":"DeviceMonitoring","general":{"uptime":1},${members.join(',')}}`)
  expect(dropped?.length).toBe(101)
})

test('takes the token from the query and the device from the path', () => {
  expect(openwisp.authorizationOf(headWith('time=1&key=fld_1'))).toBe('Bearer fld_1')
  expect(openwisp.authorizationOf(headWith('time=1'))).toBeUndefined()
  expect(openwisp.authorizationOf({ ...headWith(''), authorization: 'Bearer fld_2' })).toBe('Bearer fld_2')
  expect(openwisp.deviceIdOf?.(headWith(''))).toBe('0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f')
})
