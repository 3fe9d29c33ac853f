import { describe, expect, test } from 'vitest'
import { teltonika } from './adapter.ts'

function translate(body: unknown) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const head = { path: '/adapters/teltonika', query: '', authorization: undefined, mediaType: '' }
  const translated = teltonika.translate(bytes, head, 1_790_000_060_500)
  if (!translated.ok) return { refused: translated }
  const samples: Record<string, unknown>[] = translated.envelope
    ? JSON.parse(translated.envelope.toString()).samples
    : []
  const of = (kind: string) => samples.find((sample) => sample.kind === kind)
  return { samples, of, dropped: translated.dropped.map(({ field, reason }) => `${reason} ${field}`) }
}

test('maps a modem', () => {
  const { of } = translate({
    ntype: '5G-NSA',
    state: 'Connected',
    netstate: 'Registered, roaming',
    signal: -62,
    rsrp: '-102',
    cellid: '76957227',
    lac: '4025',
    cell_info: [{ mcc: '222', mnc: '01', earfcn: 1350, pcid: 17 }],
    active_sim: 2,
    temperature: 431,
    rxbytes: 5.0,
  })
  expect(of?.('cellular')).toMatchObject({
    rat: 'nr-nsa',
    rssiDbm: -62,
    rsrpDbm: -102,
    cellId: '76957227',
    tac: '4025',
    plmn: '22201',
    arfcn: 1350,
    pci: 17,
  })
  expect(of?.('connection')).toMatchObject({ state: 'connected', registration: 'roaming', simSlot: 2, rxBytes: 5 })
  expect(of?.('system')).toEqual({ kind: 'system', modemTemperatureC: 43.1 })
})

test('maps a position, with the speed in m/s', () => {
  const { samples } = translate({
    gps: {
      latitude: '54.68',
      longitude: '25.28',
      altitude: '120',
      speed: '36',
      angle: '90',
      accuracy: '1.5',
      satellites: '9',
      fix_status: '3',
      timestamp: '1790000000',
    },
  })
  const ts = 1_790_000_000_000
  expect(samples).toEqual([
    {
      kind: 'location',
      ts,
      fixTs: ts,
      lat: 54.68,
      lon: 25.28,
      altitudeM: 120,
      speedMps: 10,
      headingDeg: 90,
      accuracyM: 1.5,
      satellites: 9,
      fix: '3d',
    },
  ])
})

test('maps values of the router and gives each record its time', () => {
  const { samples } = translate({
    data: [
      { timestamp: 1_790_000_000, system: { uptime: 5, fw_version: 'RUTX_R_00.07', cpu_usage: 12 } },
      { timestamp: 1_790_000_060_000, uptime: 65 },
    ],
  })
  expect(samples).toEqual([
    { kind: 'system', ts: 1_790_000_000_000, uptimeS: 5, firmware: 'RUTX_R_00.07', cpuPct: 12 },
    { kind: 'system', ts: 1_790_000_060_000, uptimeS: 65 },
  ])
})

test('drops and counts what has no mapping or no usable value, but not markers of no value', () => {
  const { samples, dropped } = translate({ rsrp: 'N/A', sinr: 'good', imei: '1', ntype: '6G', rscp: 'N/A', uptime: 1 })
  expect(samples).toEqual([{ kind: 'system', uptimeS: 1 }])
  expect(dropped?.toSorted()).toEqual(['unmapped imei', 'unusable ntype', 'unusable sinr'])
})

describe('refuses', () => {
  test.each(['', '5', 'null', '"text"', '{', '['.repeat(100_000)])('the body %j', (body) => {
    expect(translate(body).refused).toMatchObject({ status: 400 })
  })
  test('more than 1,000 samples', () => {
    const records = Array.from({ length: 1_001 }, (_, index) => ({ timestamp: 1_790_000_000 + index, uptime: 1 }))
    expect(translate(records).refused).toMatchObject({ status: 413 })
  })
})

test.each([
  [{ success: true, data: [] }, 'The report has no field that a sample can hold.'],
  [{ Collection1: { imei: '1', manuf: 'Quectel' } }, 'No field of the report was understood: Collection1 (unmapped).'],
  [{ ntype: '6G', rsrp: true }, 'No field of the report was understood: ntype (unusable), rsrp (unusable).'],
])('%j is refused, because nothing was understood', (body, detail) => {
  expect(translate(body).refused).toEqual({ ok: false, status: 400, code: 'nothing_understood', detail })
})

const collected = {
  ...{
    ip: ['100.64.0.9'],
    ecio: 0,
    imei: '860000000000001',
    ipv6: [],
    rscp: 0,
    rsrp: -97,
    rsrq: -9,
    rssi: -70,
    sinr: 5,
  },
  ...{ temp: 380, modem: '1-1', cellid: '34604295', network: '5G-NSA,26202', opernum: 26202, conntype: '5G-NSA' },
  ...{ serving: '3,LTE,FDD,262,02', netstate: 'Roaming', operator: 'Operator Y', connstate: 'Connected' },
}

test.each([
  ['the name of a collection', { 'My data': collected }],
  ['the name of an input in a collection', { c1: { 'mobile data': collected } }],
  ['a list', { c1: [collected] }],
  ['no name', collected],
])('maps Data to Server, with its values under %s', (_, body) => {
  const { of } = translate(body)
  expect(of?.('cellular')).toMatchObject({
    ...{ rat: 'nr-nsa', plmn: '26202', rsrpDbm: -97, rsrqDb: -9, rssiDbm: -70, sinrDb: 5, cellId: '34604295' },
  })
  expect(of?.('connection')).toMatchObject({
    ...{ state: 'connected', registration: 'roaming', wanIp: '100.64.0.9', operatorName: 'Operator Y', plmn: '26202' },
  })
  expect(of?.('system')).toEqual({ kind: 'system', modemTemperatureC: 38 })
})

test.each([
  [{ ip: ['100.64.0.1'], ipv6: ['2001:db8::1'] }, '100.64.0.1'],
  [{ ip: [], ipv6: ['2001:db8::1'] }, '2001:db8::1'],
  [{ ip: '100.64.0.1', ipv6: [] }, '100.64.0.1'],
])('the address of %j is %s', (body, wanIp) => {
  expect(translate({ ...body, connstate: 'Connected' }).of?.('connection')).toEqual({
    ...{ kind: 'connection', state: 'connected', wanIp },
  })
})

test.each([
  [{ network: 'LTE,26201' }, { rat: 'lte', plmn: '26201' }],
  [
    { network: '5G-NSA,26201', conntype: 'N/A' },
    { rat: 'nr-nsa', plmn: '26201' },
  ],
  [
    { network: 'LTE,26201', conntype: 'EDGE' },
    { rat: 'gsm', plmn: '26201' },
  ],
  [{ network: 'Operator X', rsrp: -90 }, { rsrpDbm: -90 }],
  [{ conntype: 'n/A', operator: 'na', rsrp: -90 }, { rsrpDbm: -90 }],
])('the network of %j', (body, cellular) => {
  const { of, dropped } = translate(body)
  expect(of?.('cellular')).toEqual({ kind: 'cellular', ...cellular })
  expect(dropped).toEqual([])
})

test.each([
  [{ temp: 400 }, 40],
  [{ temp: -50 }, -5],
  [{ temp: 43 }, 4.3],
  [{ mqtt: { temperature: '415' } }, 41.5],
  [{ mqtt: { temperature: '-50' } }, -5],
  [{ success: true, data: [{ temperature: 43 }] }, 43],
  [{ success: true, data: { temperature: -7 } }, -7],
  [{ data: [{ temperature: 105 }] }, 105],
  [{ data: [{ temperature: 431 }] }, 43.1],
  [{ temperature: 120 }, 12],
  [{ temperature: 431 }, 43.1],
  [{ temperature: -150 }, -15],
  [{ temperature: 43 }, undefined],
  [{ temperature: 0 }, undefined],
])('the temperature of %j is %d °C', (body, celsius) => {
  const { of, dropped } = translate({ uptime: 1, ...body, ...('data' in body ? {} : { conntype: 'LTE' }) })
  expect(of?.('system')?.modemTemperatureC).toBe(celsius)
  expect(dropped).toEqual(celsius === undefined ? ['unusable temperature'] : [])
})
