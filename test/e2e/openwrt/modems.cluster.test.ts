import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { all } from 'mcc-mnc-list'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { plmnOfImsi } from '#telemetry/report/networks'
import { payloadsMissing, readPayload } from '#test/adapter-service'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'

let router: OpenwrtRouter
beforeEach(({ skip }) => {
  if (openwrtMissing) return skip(openwrtMissing)
  router = newOpenwrtRouter({})
})
afterEach(() => router?.remove())

type Sample = { kind: string; modem?: string } & Record<string, unknown>

function collect(variables = ''): Sample[] {
  const lines = router.run(`${variables} collect`).trim().split('\n')
  return lines.map((line) => JSON.parse(line))
}
const ofKind = (samples: readonly Sample[], kind: string) => samples.filter((sample) => sample.kind === kind)
const modemsOf = (samples: readonly Sample[]) =>
  ['cellular', 'connection'].map((kind) => ofKind(samples, kind).map(({ modem }) => modem))

/** Plugs in a modem with a device and an interface, as the kernel shows it. Its counters are 1000 and 200 bytes. */
function plugIn(device: string, network: string, driver = 'qmi_wwan'): void {
  const usb = join(router.folder, 'sys/class/usbmisc', device, 'device')
  const statistics = join(router.folder, 'sys/class/net', network, 'statistics')
  for (const folder of [join(usb, 'net', network), statistics, join(router.folder, 'dev')])
    mkdirSync(folder, { recursive: true })
  symlinkSync(`../bus/${driver}`, join(usb, 'driver'))
  writeFileSync(join(statistics, 'rx_bytes'), '1000\n')
  writeFileSync(join(statistics, 'tx_bytes'), '200\n')
  writeFileSync(join(router.folder, 'dev', device), '')
}

function unplug(device: string): void {
  for (const path of ['sys/class/usbmisc', 'dev']) rmSync(join(router.folder, path, device), { recursive: true })
}

/** A command that answers by its arguments. Other arguments fail. */
const answer = (command: string, answers: Record<string, unknown>) => {
  const cases = Object.entries(answers).map(
    ([pattern, value]) => `${pattern}) echo '${typeof value === 'string' ? value : JSON.stringify(value)}' ;;`,
  )
  router.command(command, `case "$*" in\n${cases.join('\n')}\n*) exit 1 ;;\nesac`)
}

const lte = (rsrp: number) => ({ type: 'lte', rssi: -71, rsrq: -9, rsrp, snr: 70 })
const serving = (mnc: number, more: object = {}) => ({
  ...{
    registration: 'registered',
    plmn_mcc: 262,
    plmn_mnc: mnc,
    plmn_description: `Net ${mnc}`,
    roaming: false,
    ...more,
  },
})

/** What ModemManager says of a modem. */
const modem = (index: number, network: string, more: object = {}) => ({
  modem: {
    '3gpp': { 'operator-code': `2620${index + 1}`, 'operator-name': `Net ${index}`, 'registration-state': 'home' },
    generic: {
      ...{ state: 'connected', 'access-technologies': ['lte'], 'primary-port': `cdc-wdm${index}`, ...more },
      ports: [`cdc-wdm${index} (qmi)`, `ttyUSB${index} (at)`, `${network} (net)`],
      sim: `/org/freedesktop/ModemManager1/SIM/${index}`,
    },
  },
})
const signalOf = (rsrp: number) => ({
  modem: { signal: { '5g': { rsrp: '--' }, lte: { rsrp: `${rsrp}.00`, rsrq: '-9.00', rssi: '--', snr: '19.20' } } },
})
const listed = (...indexes: number[]) => ({
  'modem-list': indexes.map((index) => `/org/freedesktop/ModemManager1/Modem/${index}`),
})
const card = (properties: object) => ({ sim: { properties } })

describe('uqmi', () => {
  beforeEach(() => {
    plugIn('cdc-wdm0', 'wwan0')
    plugIn('cdc-wdm1', 'wwan1')
    answer('uqmi', {
      '*cdc-wdm0*signal*': lte(-94),
      '*cdc-wdm0*serving*': serving(3),
      '*cdc-wdm0*imsi*': '"262031234567890"',
      '*cdc-wdm1*signal*': lte(-101),
      '*cdc-wdm1*serving*': serving(410, { plmn_mcc: 310, roaming: true }),
      '*cdc-wdm1*imsi*': '"262011234567890"',
    })
    answer('ubus', {
      '*dump*': {
        interface: [
          { interface: 'lan', up: true, l3_device: 'br-lan', uptime: 9, 'ipv4-address': [{ address: '192.168.1.1' }] },
          { interface: 'a', up: true, proto: 'qmi', l3_device: 'wwan0', uptime: 77 },
          { interface: 'a_4', up: true, proto: 'dhcp', l3_device: 'wwan0', 'ipv4-address': [{ address: '10.0.0.2' }] },
          { interface: 'b', up: false, proto: 'qmi', device: 'wwan1' },
        ],
      },
    })
  })

  test('reports each modem with its own signal, network, SIM and interface', () => {
    const samples = collect()
    expect(ofKind(samples, 'cellular')).toMatchObject([
      { modem: 'wwan0', simPlmn: '26203', rat: 'lte', rsrpDbm: -94, plmn: '26203', operatorName: 'Net 3' },
      { modem: 'wwan1', simPlmn: '26201', rat: 'lte', rsrpDbm: -101, plmn: '310410' },
    ])
    expect(ofKind(samples, 'connection')).toMatchObject([
      {
        ...{ modem: 'wwan0', simPlmn: '26203', state: 'connected', registration: 'home', interface: 'wwan0' },
        ...{ wanIp: '10.0.0.2', uptimeS: 77, rxBytes: 1000, txBytes: 200 },
      },
      { modem: 'wwan1', simPlmn: '26201', state: 'disconnected', registration: 'roaming', interface: 'wwan1' },
    ])
  })

  test('the only modem has the name that it keeps beside a second one', () => {
    unplug('cdc-wdm1')
    const alone = collect()
    plugIn('cdc-wdm1', 'wwan1')
    expect([modemsOf(alone), modemsOf(collect())]).toEqual([
      [['wwan0'], ['wwan0']],
      [
        ['wwan0', 'wwan1'],
        ['wwan0', 'wwan1'],
      ],
    ])
  })

  test('the only modem has the state of wan_interface if netifd does not know its own', () => {
    unplug('cdc-wdm1')
    answer('ubus', { '*interface.wan*': { up: true, l3_device: 'eth1', uptime: 5 } })
    expect(ofKind(collect(), 'connection')).toMatchObject([{ modem: 'wwan0', interface: 'eth1', uptimeS: 5 }])
  })

  test('a removed modem is no longer reported, and without all the uplink belongs to none', () => {
    collect()
    unplug('cdc-wdm0')
    expect(modemsOf(collect())).toEqual([['wwan1'], ['wwan1']])
    unplug('cdc-wdm1')
    answer('ubus', { '*interface.wan*': { up: false } })
    expect(modemsOf(collect())).toEqual([[], []])
  })

  test('the uplink of the only modem keeps its name while the modem is away', () => {
    unplug('cdc-wdm1')
    collect()
    unplug('cdc-wdm0')
    answer('uqmi', {})
    answer('mmcli', {})
    answer('ubus', { '*interface.wan*': { up: false } })
    for (const tool of ['', 'uqmi', 'mmcli']) expect(modemsOf(collect(`MODEM=${tool}`))).toEqual([[], ['wwan0']])
  })

  test('a modem that fails is reported with its interface, and the others as before', () => {
    answer('uqmi', { '*cdc-wdm1*signal*': lte(-101), '*cdc-wdm1*serving*': serving(2) })
    const samples = collect()
    expect(modemsOf(samples)).toEqual([['wwan1'], ['wwan1', 'wwan0']])
    const failed = ofKind(samples, 'connection').find(({ modem }) => modem === 'wwan0')
    expect(failed).toMatchObject({ state: 'connected', interface: 'wwan0', wanIp: '10.0.0.2' })
    expect(failed).not.toHaveProperty('rat')
  })

  test('a modem on LTE and 5G has the figures of both legs', () => {
    answer('uqmi', { '*cdc-wdm0*signal*': [lte(-94), { type: '5gnr', rsrp: -99, snr: 12.5, rsrq: -11 }] })
    expect(ofKind(collect(), 'cellular')).toMatchObject([
      { rat: 'nr-nsa', rsrpDbm: -94, sinrDb: 7, nrRsrpDbm: -99, nrSinrDb: 12.5, nrRsrqDb: -11 },
    ])
  })

  test.each([
    [
      'a signal of another technology',
      { type: 'wcdma', rssi: -80, ecio: -5 },
      serving(3),
      { rat: 'umts', rssiDbm: -80 },
    ],
    ['a signal without a type', {}, serving(3, { radio_interface: ['gsm'] }), { rat: 'gsm', plmn: '26203' }],
    ['no signal while it searches', {}, { registration: 'searching' }, { rat: 'none', simPlmn: '26203' }],
    ['a refused registration', {}, { registration: 'registering_denied' }, { rat: 'none' }],
  ])('reports %s', (_, signal, system, expected) => {
    answer('uqmi', { '*wdm0*signal*': signal, '*wdm0*serving*': system, '*wdm0*imsi*': '"262031234567890"' })
    expect(ofKind(collect(), 'cellular')).toMatchObject([expected])
  })

  test('asks only the devices of modem_device, and no device of another protocol', () => {
    plugIn('cdc-wdm2', 'wwan2', 'cdc_mbim')
    expect(modemsOf(collect())[0]).toEqual(['wwan0', 'wwan1'])
    expect(modemsOf(collect('MODEM=uqmi'))[0]).toEqual(['wwan0', 'wwan1'])
    expect(modemsOf(collect('MODEM_DEVICE="$DEV/cdc-wdm1"'))[0]).toEqual(['wwan1'])
  })
})

describe('ModemManager', () => {
  const two = {
    '-L*': listed(0, 7),
    '*-m?0*signal*': signalOf(-92),
    '*-m?0*': modem(0, 'wwan0'),
    '*-m?7*signal*': signalOf(-103),
    '*-m?7*': modem(1, 'wwan1', { state: 'registered' }),
    '*-i?0*': card({ 'operator-code': '310410', imsi: '310410123456789' }),
    '*-i?1*': card({ 'operator-code': '--', imsi: '722070123456789' }),
  }

  test('reports each modem by its interface, and the network of its SIM', () => {
    answer('mmcli', two)
    const samples = collect()
    expect(ofKind(samples, 'cellular')).toMatchObject([
      {
        modem: 'wwan0',
        simPlmn: '310410',
        rat: 'lte',
        rsrpDbm: -92,
        sinrDb: 19.2,
        plmn: '26201',
        operatorName: 'Net 0',
      },
      { modem: 'wwan1', simPlmn: '722070', rsrpDbm: -103, plmn: '26202' },
    ])
    expect(ofKind(samples, 'connection')).toMatchObject([
      { modem: 'wwan0', simPlmn: '310410', state: 'connected', registration: 'home', rat: 'lte' },
      { modem: 'wwan1', simPlmn: '722070', state: 'registered' },
    ])
  })

  test('a modem that answers half has what it answers, under its name', () => {
    answer('mmcli', { ...two, '*-m?7*signal*': '', '*-i?1*': '' })
    expect(ofKind(collect(), 'cellular')[1]).toMatchObject({ modem: 'wwan1', rat: 'lte', plmn: '26202' })
    answer('mmcli', { ...two, '*-m?7*signal*': signalOf(-103), '*-m?7*': '' })
    expect(ofKind(collect(), 'cellular')[1]).toMatchObject({ modem: 'wwan1', rat: 'lte', rsrpDbm: -103 })
    answer('mmcli', { ...two, '*-m?7*signal*': '', '*-m?7*': '' })
    expect(modemsOf(collect())).toEqual([['wwan0'], ['wwan0']])
  })

  test('a modem that uqmi has reported is not reported again, and one that uqmi cannot ask is', () => {
    plugIn('cdc-wdm0', 'wwan0')
    plugIn('cdc-wdm1', 'wwan1')
    answer('uqmi', { '*wdm0*signal*': lte(-94), '*wdm0*serving*': serving(3) })
    answer('mmcli', two)
    expect(ofKind(collect(), 'cellular')).toMatchObject([
      { modem: 'wwan0', rsrpDbm: -94 },
      { modem: 'wwan1', rsrpDbm: -103 },
    ])
  })

  test('reports at most 16 modems', () => {
    const indexes = Array.from({ length: 18 }, (_, index) => index)
    const answers = indexes.map((index) => [`*-m?${index}?-J`, modem(index, `wwan${index}`)])
    answer('mmcli', { '-L*': listed(...indexes), ...Object.fromEntries(answers) })
    expect(modemsOf(collect())[0]).toEqual(indexes.slice(0, 16).map((index) => `wwan${index}`))
  })

  test('reads the recorded signal of ModemManager', ({ skip }) => {
    if (payloadsMissing !== null) return skip(payloadsMissing)
    answer('mmcli', { '*signal*': readPayload('modemmanager.ndjson').split('\n')[0] ?? '' })
    expect(ofKind(collect('MODEM=mmcli'), 'cellular')).toMatchObject([
      { rat: 'lte', rsrpDbm: -92, rsrqDb: -9, rssiDbm: -64, sinrDb: 19.2 },
    ])
  })

  test('has a word for each access technology', () => {
    const technologies = [
      'lte 5gnr',
      '5gnr',
      'umts hspa-plus',
      'edge gsm',
      'lte-cat-m',
      'lte-nb-iot',
      'none',
      'evdoa lte',
    ]
    const words = router.run(technologies.map((list) => `rat_of ${list}`).join('\n'))
    expect(words.trim().split('\n')).toEqual(['nr-nsa', 'nr-sa', 'hspa', 'gsm', 'lte-m', 'nb-iot', 'none', 'lte'])
    expect(router.run('rat_of unknown; rat_of')).toBe('')
  })

  test('has a word for each registration, as text and as number', () => {
    const texts = [
      ...['idle', 'home', 'searching', 'denied', 'unknown', 'roaming', 'home-sms-only', 'roaming-sms-only'],
      ...['emergency-only', 'home-csfb-not-preferred', 'roaming-csfb-not-preferred', 'attached-rlos'],
    ]
    const words = (states: readonly unknown[]) =>
      router
        .run(states.map((state) => `registration_of ${state}`).join('\n'))
        .trim()
        .split('\n')
    const expected = [
      ...['not_registered', 'home', 'searching', 'denied', 'unknown', 'roaming', 'home', 'roaming'],
      ...['emergency_only', 'home', 'roaming', 'emergency_only'],
    ]
    expect([words(texts), words([...texts.keys()])]).toEqual([expected, expected])
  })
})

describe('other modems and none', () => {
  const uplink = { up: true, l3_device: 'eth1', 'ipv4-address': [{ address: '10.0.0.2' }] }

  test('a modem of another protocol is reported by its interface', () => {
    const interfaces = [{ interface: 'c', up: true, proto: 'ncm', l3_device: 'wwan2', uptime: 3 }]
    answer('ubus', { '*dump*': { interface: interfaces } })
    expect(ofKind(collect(), 'connection')).toMatchObject([{ modem: 'wwan2', state: 'connected', uptimeS: 3 }])
  })

  test('without a modem, the state of the uplink is reported', () => {
    const connection = (tool: string) => ofKind(collect(`MODEM=${tool}`), 'connection')
    answer('ubus', { '*': { up: false } })
    expect(connection('none')).toMatchObject([{ state: 'disconnected' }])
    answer('ubus', { '*': uplink })
    for (const tool of ['', 'uqmi', 'mmcli']) {
      if (tool !== '') router.command(tool, 'exit 1')
      const [sample, ...others] = connection(tool)
      expect(others).toEqual([])
      expect(sample).toMatchObject({ state: 'connected', interface: 'eth1', wanIp: '10.0.0.2' })
    }
  })

  test('the state of a modem says more about an uplink that is down', () => {
    answer('ubus', { '*': { up: false } })
    answer('mmcli', { '*': { modem: { signal: { lte: { rsrp: '-92' } }, generic: { state: 'searching' } } } })
    expect(ofKind(collect(), 'connection')).toMatchObject([{ state: 'searching', rat: 'lte' }])
  })
})

test.each([
  ['its error', { eph: 9.5, altMSL: 257.3, alt: 300 }, { accuracyM: '9.5', altitudeM: 257.3 }],
  ['an error that is no number', { eph: 'far' }, { accuracyM: 'far' }],
  ['the errors of gpsd before 3.20', { epx: 3, epy: 4, alt: 20 }, { accuracyM: '5.000', altitudeM: 20 }],
  ['one of these errors', { epx: 3 }, { accuracyM: 'unknown' }],
])('a position of gpsd with %s', (_, more, expected) => {
  const position = JSON.stringify({ class: 'TPV', mode: 3, lat: 50.5, lon: 14.25, ...more })
  router.command('gpspipe', `echo '${position}'`)
  expect(ofKind(collect('MODEM=none'), 'location')).toMatchObject([{ lat: 50.5, lon: 14.25, fix: '3d', ...expected }])
})

test('a position of gpsd without an error has none', () => {
  router.command('gpspipe', `echo '{"class":"TPV","mode":2,"lat":50.5,"lon":14.25}'`)
  const [location] = ofKind(collect('MODEM=none'), 'location')
  expect(location).toMatchObject({ lat: 50.5, fix: '2d' })
  expect(location).not.toHaveProperty('accuracyM')
})

describe('networks', () => {
  test('a country code and a network code as numbers are a network', () => {
    const networks = {
      ...{ '310 26': '31026', '310 4': '310004', '311 480': '311480', '334 20': '334020', '722 70': '722070' },
      ...{ '722 7': '72207', '350 7': '350007', '310 0': '31000', '262 3': '26203', '405 30': '405030' },
      ...{ '405 5': '40505', '262 "03"': '26203' },
    }
    const script = Object.keys(networks).map((codes) => `plmn_of ${codes}; echo`)
    expect(router.run(script.join('\n')).trim().split('\n')).toEqual(Object.values(networks))
    expect(router.run('plmn_of 262 null; plmn_of null 3; plmn_of 262; plmn_of "" 3; plmn_of -1 65535')).toBe('')
  })

  test('an IMSI has the network that the service takes from it', () => {
    // All networks of countries with both lengths, and one of each other country.
    const codes = all().flatMap(({ mcc, mnc }) => (mcc && mnc ? [{ mcc, mnc }] : []))
    const lengths = Map.groupBy(codes, ({ mcc }) => mcc)
    const chosen = [...lengths.values()].flatMap((own) =>
      own.some(({ mnc }) => mnc.length !== own[0]?.mnc.length) ? own : own.slice(0, 1),
    )
    const imsis = [...new Set(chosen.map(({ mcc, mnc }) => `${mcc}${mnc}`.padEnd(15, '5')))].filter((imsi) =>
      /^\d+$/.test(imsi),
    )
    const found = router.run('while read -r imsi; do plmn_of_imsi $imsi; done', `${imsis.join('\n')}\n`)
    expect(found.trim().split('\n')).toEqual(imsis.map(plmnOfImsi))
    expect(router.run('plmn_of_imsi; plmn_of_imsi 26201; plmn_of_imsi "UIM uninitialized"')).toBe('')
  })
})

test('the unit of the SNR is that of the version of uqmi, else it is unknown until a value shows it', () => {
  const snr = (value: number | string) => router.run(`snr_of ${value}`).trim()
  expect(snr(12)).toBe('')
  // Only versions that print decibels print a point.
  expect(snr('12.500000')).toBe('12.500000')
  expect([snr(70), snr(12)]).toEqual(['7', '1.2'])
  const packages = (folder: string, text: string) => {
    mkdirSync(join(router.folder, 'packages', folder), { recursive: true })
    return (file: string) => writeFileSync(join(router.folder, 'packages', folder, file), text)
  }
  packages('opkg', 'Package: uqmi\nVersion: 2022-10-20-c8c9f105-1\n\n')('status')
  expect(snr(12)).toBe('1.2')
  packages('opkg', '')('status')
  packages('apk/db', 'P:uqmi\nV:2025.07.30~7914da43-r1\n\n')('installed')
  expect(snr(12)).toBe('12')
})
