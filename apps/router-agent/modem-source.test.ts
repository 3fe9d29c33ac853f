import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createModemReader, createModemSource } from './modem-source.ts'
import type { Sample } from './sample.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modems-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a command that answers by its arguments, and returns it. Other arguments fail. */
function command(answers: Record<string, unknown>): string {
  const path = join(folder, 'mmcli')
  const cases = Object.entries(answers).map(([pattern, answer]) => `${pattern}) echo '${JSON.stringify(answer)}' ;;`)
  writeFileSync(path, `#!/bin/sh\ncase "$*" in\n${cases.join('\n')}\n*) exit 1 ;;\nesac\n`)
  chmodSync(path, 0o755)
  return path
}

const listed = (...indexes: number[]) => ({
  'modem-list': indexes.map((index) => `/org/freedesktop/ModemManager1/Modem/${index}`),
})
const details = (network: string, more: object = {}) => ({
  modem: {
    'dbus-path': '/org/freedesktop/ModemManager1/Modem/0',
    '3gpp': { 'operator-code': '26201', 'operator-name': 'Net 1', 'registration-state': 'home', ...more },
    generic: {
      ...{ state: 'connected', ports: ['cdc-wdm0 (qmi)', `${network} (net)`], 'primary-port': 'cdc-wdm0' },
      sim: '/org/freedesktop/ModemManager1/SIM/3',
    },
  },
})
const signal = (rsrp: string) => ({ modem: { signal: { lte: { rsrp, snr: '--' }, '5g': { rsrp: '--' } } } })
const two = {
  '-L*': listed(0, 4),
  '-m?0*signal*': signal('-92.00'),
  '-m?0*': details('wwan0'),
  '-m?4*signal*': signal('-101.00'),
  '-m?4*': details('wwan1', { 'operator-code': '310410', 'registration-state': 'roaming' }),
  '-i*': { sim: { properties: { 'operator-code': '--', imsi: '310410123456789' } } },
}

const reader = (answers: Record<string, unknown>) =>
  createModemReader({ mmcli: command(answers), networkFolder: folder })

const ofKind = (samples: readonly Sample[], kind: string) => samples.filter((sample) => sample.kind === kind)

test('samples each modem by its interface, with its SIM and its counters', async () => {
  const statistics = join(folder, 'wwan1/statistics')
  mkdirSync(statistics, { recursive: true })
  for (const [file, bytes] of Object.entries({ rx_bytes: 1_000, tx_bytes: 200 }))
    writeFileSync(join(statistics, file), `${bytes}\n`)
  const samples = await reader(two)(5)
  expect(ofKind(samples, 'cellular')).toEqual([
    {
      ...{ kind: 'cellular', ts: 5, modem: 'wwan0', simPlmn: '310410', rat: 'lte' },
      ...{ plmn: '26201', operatorName: 'Net 1', rsrpDbm: -92 },
    },
    expect.objectContaining({ modem: 'wwan1', plmn: '310410', rsrpDbm: -101 }),
  ])
  expect(ofKind(samples, 'connection')).toMatchObject([
    { ts: 5, modem: 'wwan0', simPlmn: '310410', state: 'connected', registration: 'home', plmn: '26201' },
    { modem: 'wwan1', registration: 'roaming', interface: 'wwan1', rxBytes: 1_000, txBytes: 200 },
  ])
})

test('a modem that answers half has what it answers under its name, and one that is gone is left out', async () => {
  const read = reader(two)
  await read(1)
  command({ ...two, '-m?4*signal*': null })
  expect(ofKind(await read(2), 'cellular')).toMatchObject([{ rsrpDbm: -92 }, { modem: 'wwan1', plmn: '310410' }])
  command({ ...two, '-m?4*signal*': signal('-99.00'), '-m?4*': null })
  expect(ofKind(await read(3), 'cellular')).toMatchObject([{ modem: 'wwan0' }, { modem: 'wwan1', rsrpDbm: -99 }])
  command({ ...two, '-L*': listed(0) })
  expect((await read(4)).map(({ modem }) => modem)).toEqual(['wwan0', 'wwan0'])
})

test('a modem that searches without a signal has no service', async () => {
  const searching = { '3gpp': { 'registration-state': 'searching' }, generic: { state: 'searching' } }
  const read = reader({ '-L*': listed(2), '-m?2*': { modem: searching } })
  expect(await read(1)).toEqual([
    { kind: 'cellular', ts: 1, modem: '2', rat: 'none' },
    { kind: 'connection', ts: 1, modem: '2', state: 'searching', registration: 'searching' },
  ])
})

test('without ModemManager, or with answers that are not JSON, there are no samples', async () => {
  expect(await createModemReader({ mmcli: join(folder, 'missing') })(1)).toEqual([])
  expect(await reader({})(1)).toEqual([])
  expect(await reader({ '-L*': listed(0), '-m*': 'error' })(1)).toEqual([])
})

test('a source returns the samples of a minute once, when they have come', async () => {
  const sampleOf = (ts: number): Sample => ({ ts, kind: 'cellular', modem: 'wwan0' })
  const source = createModemSource((ts) => Promise.resolve([sampleOf(ts)]), 1_000)
  const collected: Sample[][] = []
  for (const nowMs of [0, 1_000, 2_000, 60_000, 61_000, 61_001]) {
    collected.push(source.collect(nowMs))
    await Promise.resolve()
  }
  expect(collected).toEqual([[], [], [sampleOf(1_000)], [], [], [sampleOf(61_000)]])
})
