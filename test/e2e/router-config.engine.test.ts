import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { childEnvironment } from '#test/child-environment'
import { deviceCalls } from '#test/job-service'
import { nextAttemptWithinMs, timeOutAttempt } from '#test/timed-out-job'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const program = fileURLToPath(new URL('../../apps/router-agent/main.ts', import.meta.url))

let service: WholeService
const cleanUp: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step()
})
afterAll(() => service.close())

const call = async (method: string, path: string, json?: unknown) =>
  (await deviceCalls(service.url, service.adminKey).call(method, path, json)).body

/** The network of a router: a proxy that passes bytes only while the config of the router has the right access point. */
async function startNetwork(folder: string): Promise<string> {
  const sockets = new Set<Socket>()
  const file = join(folder, 'config.json')
  const isBroken = () => existsSync(file) && readFileSync(file, 'utf8').includes('"wrong"')
  const { port } = new URL(service.url)
  const server = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    sockets.add(client).add(upstream)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.on('data', (bytes) => (isBroken() ? from.destroy() : to.write(bytes)))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function startAgent(
  baseUrl: string,
  folder: string,
  token: string,
  settings: Record<string, string> = {},
): { stop: () => Promise<void> } {
  const agent: ChildProcess = spawn(node, [program, '--base-url', baseUrl, '--state-dir', folder], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...childEnvironment,
      DEVICE_TOKEN: token,
      REPORT_EVERY_MS: '200',
      LONG_POLL_SECONDS: '5',
      ...settings,
    },
  })
  const ended = once(agent, 'exit')
  const stop = async () => {
    agent.kill('SIGTERM')
    await ended
  }
  cleanUp.push(stop)
  return { stop }
}

test('the service sees what a router runs; a profile that cuts the router off is rolled back, also after a restart', {
  timeout: 180_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-config-'))
  cleanUp.push(() => rm(folder, { recursive: true, force: true }))
  const password = randomBytes(12).toString('hex')
  const organization = (await call('POST', '/orgs', { name: 'Harbour ferries', plan: 'pro' })).id
  const fields = { organizationId: organization, serial: 'SN-1', name: 'Ferry 1', model: 'RX400' }
  const device = (await call('POST', '/devices', fields)).id
  const { token } = await call('POST', `/devices/${device}/token`, {})
  const configs = `/orgs/${organization}/configs`
  const settings = (apn: string) => ({ mobile: { apn, mtu: 1_500 }, keys: ['a', { $secret: password }], '€': [1e21] })
  const profile = (await call('POST', configs, { name: 'Depot', settings: settings('fleet.iot') })).id
  const apply = () => call('POST', `${configs}/${profile}/apply`, { deviceIds: [device] })
  const shown = () => call('GET', `/devices/${device}/config`)
  const isShown = (state: string) => until(state, async () => (await shown()).state === state)
  const file = join(folder, 'config.json')

  const network = await startNetwork(folder)
  const first = startAgent(network, folder, token)
  await apply()
  await isShown('inSync')

  const applied = JSON.parse(await readFile(file, 'utf8'))
  const changed = { ...applied, settings: { ...applied.settings, mobile: { apn: 'fleet.iot', mtu: 1_400 } } }
  await writeFile(file, JSON.stringify(changed))
  await isShown('differs')
  expect((await shown()).differences).toEqual([{ path: '/mobile/mtu', desired: 1_500, reported: 1_400 }])
  expect(JSON.stringify(await shown())).not.toContain(password)

  await call('PATCH', `${configs}/${profile}`, { settings: settings('wrong') })
  const { jobs } = await apply()
  await until('the bad profile', async () => (await readFile(file, 'utf8')).includes('"wrong"'))
  await first.stop()
  await timeOutAttempt(service.pool, jobs[0].id)
  startAgent(network, folder, token, { ROLL_BACK_AFTER_MS: '3000' })
  const failed = await until(
    'the roll-back',
    async () => {
      const { items } = await call('GET', `/orgs/${organization}/jobs?status=failed`)
      return items[0]
    },
    nextAttemptWithinMs + 30_000,
  )
  // The router takes the second attempt, and does not apply the profile again.
  expect(failed).toMatchObject({ kind: 'apply_config', attempt: 2, error: { code: 'rolled_back' } })
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(changed)
  // The service learns the restored config with the next report, which may come after the failure.
  const restored = { state: 'differs', desired: { version: 1 }, reported: { version: 1 } }
  await expect.poll(shown).toMatchObject(restored)
})
