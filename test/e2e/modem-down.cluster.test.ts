import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdapterService, startAdapterService } from '#test/adapter-service'
import { childEnvironment } from '#test/child-environment'
import { newOpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { until } from '#test/until'
import { createModemReader } from '../../apps/router-agent/modem-source.ts'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const program = fileURLToPath(new URL('../../apps/router-agent/main.ts', import.meta.url))
const alertMinutes = 5

let service: AdapterService
let enrollmentKey: string

beforeAll(async () => {
  service = await startAdapterService()
  const { organizationId, admin } = service
  const keys = `/orgs/${organizationId}/enrollment-keys`
  enrollmentKey = (await admin('POST', keys, { name: 'Routers', autoCreate: true })).key
  const condition = { kind: 'modem_down', forMinutes: alertMinutes }
  await admin('POST', `/orgs/${organizationId}/alert-rules`, { name: 'Modem', condition })
}, 180_000)
afterAll(() => service?.close())

const deviceOf = (serial: string): Promise<{ id: string }> =>
  until('the device is registered', async () => (await service.admin('GET', `/devices?q=${serial}`)).items[0], 60_000)

/** Resolves with the newest alert of a device as soon as it has this state. */
const alertOf = (id: string, state: string): Promise<Record<string, unknown>> =>
  until(
    `an alert is ${state}`,
    async () => {
      const { items } = await service.admin('GET', `/orgs/${service.organizationId}/alerts?deviceId=${id}`)
      return items[0]?.state === state && items[0]
    },
    120_000,
  )

/** Reports what a router measured before the period of the rule: the alert needs no wait of minutes then. */
async function reportEarlier(token: string, samples: readonly object[]): Promise<void> {
  const ts = Date.now() - (alertMinutes + 3) * 60_000
  const dated = samples.map(({ ageMs: _, ...sample }: { ageMs?: unknown }) => ({ ...sample, ts }))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const { status, json } = await service.send('/telemetry', JSON.stringify({ samples: dated }), headers)
  expect([status, json.rejected]).toEqual([202, []])
}

/** What `mmcli` prints about modems with a network interface each. Other questions fail. */
function mmcliOf(...indexes: number[]): string {
  const path = '/org/freedesktop/ModemManager1/Modem'
  const modem = (index: number) => ({
    modem: {
      '3gpp': { 'operator-code': `2620${index + 1}`, 'registration-state': 'home' },
      generic: {
        ...{ state: 'connected', 'access-technologies': ['lte'], ports: [`wwan${index} (net)`] },
        'primary-port': `cdc-wdm${index}`,
      },
    },
  })
  const answers = [
    `-L*) echo '${JSON.stringify({ 'modem-list': indexes.map((index) => `${path}/${index}`) })}' ;;`,
    '*signal*) exit 1 ;;',
    ...indexes.map((index) => `*-m?${index}*) echo '${JSON.stringify(modem(index))}' ;;`),
  ]
  return `case "$*" in\n${answers.join('\n')}\n*) exit 1 ;;\nesac`
}

test('a modem that the router agent no longer reports opens an alert with its name, until it is back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modem-down-'))
  const writeCommand = (name: string, ...indexes: number[]): string => {
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${mmcliOf(...indexes)}\n`)
    chmodSync(path, 0o755)
    return path
  }
  /** The agent reads its modems when it starts, and then once a minute. */
  const start = () => {
    const child = fork(program, ['--serial', 'MM-1', '--state-dir', folder], {
      ...{ execPath: node, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
      env: {
        ...childEnvironment,
        ...{ PATH: `${folder}:${process.env.PATH}`, BASE_URL: service.url, ENROLLMENT_KEY: enrollmentKey },
        ...{ REPORT_EVERY_MS: '500', LONG_POLL_SECONDS: '0' },
      },
    })
    const ended = once(child, 'exit')
    return async () => {
      child.kill('SIGTERM')
      await ended
    }
  }
  writeCommand('mmcli', 0)
  let stop = start()
  try {
    const { id } = await deviceOf('MM-1')
    await service.latest({ id }, 'cellular')
    const { token } = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'))
    const both = createModemReader({ mmcli: writeCommand('both', 0, 1), networkFolder: folder })
    await reportEarlier(token, await both(0))
    expect(await alertOf(id, 'open')).toMatchObject({ measured: { modem: 'wwan1' } })
    await stop()
    writeCommand('mmcli', 0, 1)
    stop = start()
    expect(await alertOf(id, 'closed')).toMatchObject({ measured: { modem: 'wwan1' }, closeReason: 'condition_ended' })
  } finally {
    await stop()
    rmSync(folder, { recursive: true })
  }
}, 300_000)

test('a modem that the OpenWrt agent no longer reports opens an alert with its name, until it is back', async ({
  skip,
}) => {
  if (openwrtMissing) return skip(openwrtMissing)
  const router = newOpenwrtRouter({ SERVICE_URL: service.url, ENROLLMENT_KEY: enrollmentKey, SERIAL: 'WRT-1' })
  const earlier = newOpenwrtRouter({})
  try {
    router.command('mmcli', mmcliOf(0))
    router.start('report')
    const { id } = await deviceOf('WRT-1')
    await service.latest({ id }, 'cellular')
    earlier.command('mmcli', mmcliOf(0, 1))
    const samples = earlier.run('collect').trim().split('\n')
    await reportEarlier(
      router.lines('state/token')[0] ?? '',
      samples.map((sample) => JSON.parse(sample)),
    )
    expect(await alertOf(id, 'open')).toMatchObject({ measured: { modem: 'wwan1' } })
    router.command('mmcli', mmcliOf(0, 1))
    expect(await alertOf(id, 'closed')).toMatchObject({ measured: { modem: 'wwan1' }, closeReason: 'condition_ended' })
  } finally {
    await Promise.all([router, earlier].map((each) => each.remove()))
  }
}, 300_000)
