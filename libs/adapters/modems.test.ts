import { describe, expect, test } from 'vitest'
import { decodeBatch } from '#telemetry/report/accept'
import { fieldMissing, readField } from '#test/field'
import { adapterHeadOf } from './adapter.ts'
import { adapterOf } from './adapters.ts'
import type { SourceName } from './source-names.ts'

const head = adapterHeadOf({ url: '/', headers: {} })

function samplesOf(source: SourceName, body: unknown): Record<string, unknown>[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const translated = adapterOf(source).translate(Buffer.from(text), head, Date.UTC(2026, 4, 4))
  if (!translated.ok) throw new Error(translated.detail)
  return translated.envelope ? JSON.parse(translated.envelope.toString()).samples : []
}

const rf = (modem: string, rsrpDbm: number) => ({ kind: 'cellular', modem, rsrpDbm })
const link = (modem: string, state: string) => ({ kind: 'connection', modem, state })

const mmcli = (index: number, operator: string) => ({
  modem: {
    'dbus-path': `/org/freedesktop/ModemManager1/Modem/${index}`,
    generic: { state: 'connected', 'access-technologies': ['lte', '5gnr'] },
    '3gpp': { 'operator-code': operator },
  },
})
const signal = (rsrp: string) => ({ modem: { signal: { lte: { rsrp } } } })

describe.each<[SourceName, string, unknown, object[]]>([
  [
    'modemmanager',
    'parts of two modems, one a line',
    [mmcli(0, '26201'), signal('-90'), mmcli(1, '26203'), signal('-110')]
      .map((part) => JSON.stringify(part))
      .join('\n'),
    [
      { ...rf('0', -90), plmn: '26201', rat: 'nr-nsa' },
      { ...link('0', 'connected'), plmn: '26201' },
      { ...rf('1', -110), plmn: '26203', rat: 'nr-nsa' },
      { ...link('1', 'connected'), plmn: '26203' },
    ],
  ],
  [
    'modemmanager',
    'a list, with a part before the one that names the modem',
    [signal('-90'), mmcli(2, '26201')],
    [rf('2', -90), link('2', 'connected')],
  ],
  ['modemmanager', 'no name', signal('-90'), [{ kind: 'cellular', rat: 'lte', rsrpDbm: -90 }]],
  [
    'teltonika',
    'the status of two modems from the API',
    {
      data: [
        { id: '1-1', rsrp: -90, state: 'Connected', imsi: '222010000000001', ca_signal: [{ band: 'B7', rsrp: -120 }] },
        { id: '2-1.4', rsrp: -110, state: 'Disconnected', imsi: 334_020_000_000_001 },
      ],
    },
    [
      { ...rf('1-1', -90), simPlmn: '22201' },
      { ...link('1-1', 'connected'), simPlmn: '22201' },
      { ...rf('2-1.4', -110), simPlmn: '334020' },
      { ...link('2-1.4', 'disconnected'), simPlmn: '334020' },
    ],
  ],
  [
    'teltonika',
    'two inputs of a collection, and values of the router',
    {
      c1: {
        a: { modem: '1-1', rsrp: -90 },
        b: { modem: '2-1', rsrp: -110 },
        c: { uptime: 7 },
        timestamp: 1_777_852_800,
      },
    },
    [rf('1-1', -90), rf('2-1', -110), { kind: 'system', uptimeS: 7 }],
  ],
  [
    'teltonika',
    'one modem in two inputs',
    { c1: { a: { modem: '1-1', rsrp: -90 }, b: { conntype: 'LTE', connstate: 'Connected' } } },
    [{ ...rf('1-1', -90), rat: 'lte' }, link('1-1', 'connected')],
  ],
  [
    'teltonika',
    'groups with the name modem',
    {
      modem: [
        { id: '1-1', rsrp: -90 },
        { id: '2-1', rsrp: -110 },
      ],
    },
    [rf('1-1', -90), rf('2-1', -110)],
  ],
  ['teltonika', 'ids of records', [{ id: 7, rsrp: -90 }], [{ kind: 'cellular', rsrpDbm: -90 }]],
  [
    'cradlepoint',
    'all net devices of the router',
    {
      success: true,
      data: {
        'ethernet-wan': { info: { type: 'ethernet' }, diagnostics: {}, status: { connection_state: 'connected' } },
        'mdm-1': { diagnostics: { RSRP: '-90', IMSI: '310410000000001' }, status: { connection_state: 'connected' } },
        'mdm-2': { diagnostics: { RSRP: '-110' }, status: { connection_state: 'disconnected' } },
      },
    },
    [
      { ...rf('mdm-1', -90), simPlmn: '310410' },
      { ...link('mdm-1', 'connected'), simPlmn: '310410' },
      rf('mdm-2', -110),
      link('mdm-2', 'disconnected'),
    ],
  ],
  [
    'cradlepoint',
    'a modem without diagnostics',
    {
      data: {
        'mdm-1': { diagnostics: { RSRP: '-90' } },
        'mdm-2': { diagnostics: null, status: { connection_state: 'disconnected' } },
      },
    },
    [rf('mdm-1', -90), link('mdm-2', 'disconnected')],
  ],
  ['cradlepoint', 'one net device', { info: { uid: 'mdm-1' }, diagnostics: { RSRP: '-90' } }, [rf('mdm-1', -90)]],
  ['cradlepoint', 'diagnostics with the name', { uid: 'mdm-1', RSRP: '-90' }, [rf('mdm-1', -90)]],
  [
    'inhand',
    'two modems and the router',
    { 'modem1.rsrp': -90, 'modem2.rsrp': -110, 'modem2.imsi': '460110000000000', 'sysinfo.firmware_version': 'V1' },
    [
      rf('modem1', -90),
      { ...rf('modem2', -110), simPlmn: '46011' },
      { kind: 'connection', modem: 'modem2', simPlmn: '46011' },
      { kind: 'system', firmware: 'V1' },
    ],
  ],
])('%s: %s', (source, _, body, samples) => {
  test('are samples of their modem', () => {
    const found = samplesOf(source, body)
    expect(found).toHaveLength(samples.length)
    expect(found).toEqual(expect.arrayContaining(samples.map((sample) => expect.objectContaining(sample))))
  })
})

test('a modem without a value is no sample, and a name that is too long is dropped', () => {
  expect(samplesOf('teltonika', { modem: '1-1', imsi: '222010000000001', uptime: 1 })).toEqual([
    { kind: 'connection', modem: '1-1', imsi: '222010000000001', simPlmn: '22201' },
    { kind: 'system', uptimeS: 1 },
  ])
  expect(() => samplesOf('teltonika', { modem: '1-1' })).toThrow('The report has no field')
  expect(samplesOf('teltonika', { modem: 'm'.repeat(65), rsrp: -90 })).toEqual([{ kind: 'cellular', rsrpDbm: -90 }])
  const parts = Array.from({ length: 65 }, () => signal('-90'))
  expect(() => samplesOf('modemmanager', parts)).toThrow('at most 64 objects')
})

test('the modem of Data to Server in the field', ({ skip }) => {
  if (fieldMissing !== null) return skip(fieldMissing)
  const samples = samplesOf('teltonika', readField('teltonika-d2s-mobile.json'))
  const of = (kind: string) => samples.find((sample) => sample.kind === kind)
  expect(of('cellular')).toMatchObject({ modem: '2-1', plmn: '26201', simPlmn: '90140' })
  expect(of('connection')).toMatchObject({ modem: '2-1', state: 'connected', simPlmn: '90140' })
})

test.each<[SourceName, unknown]>([
  ['modemmanager', { modem: { generic: { state: 'searching', 'signal-quality': { value: '0' } } } }],
  ['modemmanager', { modem: { '3gpp': { 'registration-state': 'denied', 'operator-code': '26201' } } }],
  ['teltonika', { conntype: 'Unknown', netstate: 'Searching', rsrp: 'N/A', opernum: 26201 }],
  ['teltonika', { conntype: 'NOSERVICE', sinr: 0, rsrq: 0 }],
  ['teltonika', { netstate: 'Searching' }],
  ['modemmanager', { modem: { '3gpp': { 'registration-state': 'searching' } } }],
  [
    'openwisp',
    { type: 'DeviceMonitoring', interfaces: [{ name: 'wwan0', mobile: { connection_status: 'searching' } }] },
  ],
])('a modem of %s that is not registered and hears no cell has no service: %j', (source, body) => {
  expect(samplesOf(source, body)).toContainEqual(expect.objectContaining({ kind: 'cellular', rat: 'none' }))
})

test.each([
  ['failed', {}],
  ['locked', {}],
  ['disabled', { '3gpp': { 'registration-state': '--', 'operator-name': '--' } }],
  ['initializing', { '3gpp': { 'registration-state': 'unknown' } }],
])('a modem of ModemManager that is %s and hears no cell has no signal quality', (state, more) => {
  const generic = { state, 'access-technologies': [], 'signal-quality': { value: '0' } }
  const kinds = samplesOf('modemmanager', { modem: { generic, ...more } }).map(({ kind }) => kind)
  expect(kinds).toEqual(['connection'])
})

test('a modem of ModemManager that disconnects keeps what it hears', () => {
  const generic = { state: 'disconnecting', 'access-technologies': ['lte'], 'signal-quality': { value: '40' } }
  expect(samplesOf('modemmanager', { modem: { generic } })).toContainEqual(
    expect.objectContaining({ kind: 'cellular', rat: 'lte', signalPercent: 40 }),
  )
})

const seventeen = Array.from({ length: 17 }, (_, index) => index)

test.each<[SourceName, string]>([
  ['modemmanager', seventeen.map((index) => JSON.stringify(mmcli(index, '26201'))).join('\n')],
  ['teltonika', JSON.stringify(seventeen.map((index) => ({ modem: `1-${index}`, rsrp: -90, connstate: 'Connected' })))],
  [
    'influx',
    seventeen.map((n) => `cellular,modem=m${n} rsrpDbm=-90\nconnection,modem=m${n} state="connected"`).join('\n'),
  ],
])('of 17 modems of %s, the last one is rejected', (source, body) => {
  const receivedAtMs = Date.UTC(2026, 4, 4)
  const translated = adapterOf(source).translate(Buffer.from(body), head, receivedAtMs)
  const envelope = (translated.ok ? translated.envelope : undefined) ?? Buffer.alloc(0)
  const decoded = decodeBatch(envelope, 'json', { receivedAtMs, oldestTsMs: 0 })
  expect(decoded).toMatchObject({ ok: true, rejected: Array(2).fill({ code: 'invalid_sample' }) })
  const modems = decoded.ok ? decoded.samples.map(({ sample }) => sample.modem) : []
  expect(new Set(modems).size).toBe(16)
})

test('a modem that is not registered, but hears a cell, keeps its values', () => {
  const heard = { ...signal('-90').modem, '3gpp': { 'registration-state': 'searching' } }
  expect(samplesOf('modemmanager', { modem: heard })).toContainEqual(
    expect.objectContaining({ rat: 'lte', rsrpDbm: -90 }),
  )
})

test.each<[SourceName, unknown, object]>([
  ['teltonika', { network: { rsrp: -90, conntype: 'LTE' } }, { rat: 'lte', rsrpDbm: -90 }],
  ['teltonika', { signal: { rsrp: -90 }, temp: 400 }, { rsrpDbm: -90 }],
  ['teltonika', { operator: { rsrp: -90, operator: 'Net 1' } }, { rsrpDbm: -90, operatorName: 'Net 1' }],
  ['modemmanager', { modem: { generic: { 'access-technologies': ['LTE'] } } }, { rat: 'lte' }],
])('values of %s have groups of any name, and words in any case: %j', (source, body, values) => {
  expect(samplesOf(source, body)).toContainEqual(expect.objectContaining({ kind: 'cellular', ...values }))
})
