import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstalledClient, installClient } from '#test/installed-client'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

const run = promisify(execFile)
let installed: InstalledClient
let service: WholeService
beforeAll(async () => {
  ;[installed, service] = await Promise.all([installClient(), startWholeService()])
  await installed.linkOptional()
}, 180_000)
afterAll(async () => {
  await installed.remove()
  await service.close()
})

// biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes.
async function call(method: string, path: string, body?: unknown, key = service.adminKey): Promise<any> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(service.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  const text = await response.text()
  expect(response.ok, `${method} ${path}: ${text}`).toBe(true)
  return text && JSON.parse(text)
}

type Audited = { subjectId: string; actorName: string; detail: Record<string, unknown> }

/** An organization with one router, a group with it, and a key. */
async function newFleet(serial: string, role = 'admin') {
  const { id: org } = await call('POST', '/orgs', { name: `Fleet ${serial}`, plan: 'enterprise' })
  const { key } = await call('POST', `/orgs/${org}/api-keys`, { name: 'Assistant', role })
  const device = { organizationId: org, serial, name: `Bus ${serial}`, model: 'RX', tags: ['bus'] }
  const { id: deviceId } = await call('POST', '/devices', device)
  const { id: groupId } = await call('POST', `/orgs/${org}/groups`, { name: 'Buses', smartTags: ['bus'] })
  const audit = async (action = 'tool.called') =>
    (await call('GET', `/orgs/${org}/audit?action=${action}`)).items as Audited[]
  return { org, key, deviceId, groupId, audit }
}

const program = () => join(installed.folder, 'node_modules/.bin/routerfleet')
const environment = (key?: string) => ({
  ROUTERFLEET_URL: service.url,
  ROUTERFLEET_PROFILES: join(installed.folder, 'no-profiles.json'),
  HOME: installed.folder,
  PATH: installed.environment.PATH ?? '',
  ...(key && { ROUTERFLEET_KEY: key }),
})

/** The answer of a tool: its text, its structured content, and whether it is an error. */
// biome-ignore lint/suspicious/noExplicitAny: each tool has its own answer.
type Called = { text: string; value: any; isError: boolean }

async function connected(transport: StdioClientTransport | StreamableHTTPClientTransport) {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  const { tools } = await client.listTools()
  const use = async (name: string, args: Record<string, unknown> = {}): Promise<Called> => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
    const [first] = content as { text: string }[]
    return { text: first?.text ?? '', value: structuredContent, isError: isError === true }
  }
  return { client, tools, use, names: tools.map(({ name }) => name) }
}

const overStdio = (key: string, ...options: string[]) =>
  connected(new StdioClientTransport({ command: program(), args: ['mcp', ...options], env: environment(key) }))

const reading = ['find_devices', 'device_signal', 'device_trips', 'dead_zones', 'forecast_route', 'list_alerts']
const others = ['list_jobs', 'get_job', 'list_groups', 'list_profiles']
const writing = ['create_jobs', 'apply_profile', 'acknowledge_alerts']

describe('over stdio', () => {
  test('finds the devices of its organization only, and leaves an audit record of each call', async () => {
    const own = await newFleet('S-1', 'viewer')
    const other = await newFleet('S-2')
    const { client, tools, use, names } = await overStdio(own.key)
    expect(names).toEqual([...reading, ...others])
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    const found = await use('find_devices', { query: 'Bus' })
    expect(found.value).toMatchObject({ items: [{ id: own.deviceId, serial: 'S-1' }], nextCursor: null, total: 1 })
    expect(found.text).toMatch(/S-1 +Bus S-1 +RX +provisioning/)
    for (const device of ['S-2', other.deviceId, 'Bus S-2']) {
      const text = `There is no device with the id, serial or name "${device}".`
      expect(await use('device_signal', { device })).toMatchObject({ isError: true, text })
    }
    const calls = await own.audit()
    expect(calls.map(({ subjectId }) => subjectId)).toEqual([...Array(3).fill('device_signal'), 'find_devices'])
    expect(calls[0]).toMatchObject({ actorName: 'Assistant', detail: { about: 'Bus S-2' } })
    expect(await other.audit()).toEqual([])
    await client.close()
  })

  test('returns the signal without identifiers of the SIM, and lists without items as a sentence', async () => {
    const { key, deviceId } = await newFleet('S-3')
    const { token } = await call('POST', `/devices/${deviceId}/token`, {}, key)
    const connection = { kind: 'connection', state: 'connected', imsi: '204080000000001', wanIp: '203.0.113.7' }
    const cellular = { kind: 'cellular', modem: 'wwan0', rat: 'lte', rsrpDbm: -97, sinrDb: 9 }
    const location = { kind: 'location', lat: 51.8413, lon: -8.2916, fix: '3d', accuracyM: 4 }
    await call('POST', '/telemetry', { samples: [connection, cellular, location] }, token)
    const { client, use } = await overStdio(key)
    const signal = await until('the signal is stored', async () => {
      const answer = await use('device_signal', { device: 'Bus S-3' })
      return answer.value?.cellular ? answer : undefined
    })
    expect(signal.value).toMatchObject({
      device: { id: deviceId, serial: 'S-3' },
      cellular: { modem: 'wwan0', rsrpDbm: -97, sinrDb: 9, quality: expect.any(String) },
      location: { lat: 51.8413, lon: -8.2916 },
    })
    expect(signal.text).toMatch(/signal +rsrpDbm +-97/)
    expect(JSON.stringify(signal)).not.toMatch(/2040800|203\.0\.113/)
    const path = [-8.3, -8.28].map((lon) => ({ lat: 51.84, lon }))
    expect((await use('forecast_route', { path })).text).toMatch(/^Length 1\.4 km, with data/)
    expect((await use('device_trips', { device: 'S-3' })).text).toBe('Bus S-3 made no trip.')
    expect((await use('dead_zones', { box: { west: -9, south: 51, east: -8, north: 52 } })).text).toBe(
      'No dead zones are known.',
    )
    expect((await use('list_alerts')).text).toBe('No alerts.')
    expect((await use('list_jobs', { device: 'S-3' })).text).toBe('No jobs.')
    expect((await use('list_groups')).value).toMatchObject({ items: [{ name: 'Buses', effectiveDeviceCount: 1 }] })
    expect((await use('list_profiles')).text).toBe('No profiles.')
    await client.close()
  })

  test('finds a device whose name is part of more names than a page has', async () => {
    const { org, key } = await newFleet('S-5')
    const rows = Array.from({ length: 250 }, (_, index) => `M-${index + 1},Tram ${index + 1},RX`)
    await fetch(`${service.url}/devices/import?orgId=${org}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body: ['serial,name,model', ...rows].join('\n'),
    })
    const { client, use } = await overStdio(key)
    expect((await use('device_signal', { device: 'Tram 1' })).value).toMatchObject({ device: { serial: 'M-1' } })
    await call('POST', '/devices', { organizationId: org, serial: 'M-0', name: 'Tram 1', model: 'RX' })
    expect(await use('device_signal', { device: 'Tram 1' })).toMatchObject({
      ...{ isError: true, text: 'More than one device is named "Tram 1". Use an id.' },
    })
    await client.close()
  })

  test('returns lists page by page with the number of all, and errors as sentences', async () => {
    const { org, key } = await newFleet('S-4')
    for (const serial of ['S-41', 'S-42'])
      await call('POST', '/devices', { organizationId: org, serial, name: serial, model: 'RX' })
    const { client, use } = await overStdio(key)
    const first = await use('find_devices', { limit: 2 })
    expect(first.value).toMatchObject({ items: [{}, {}], total: 3, nextCursor: expect.any(String) })
    expect(first.text).toContain('2 of 3. For the next page, call the tool again with the cursor')
    const second = await use('find_devices', { limit: 2, cursor: first.value.nextCursor })
    expect(second.value).toMatchObject({ items: [{ serial: 'S-4' }], total: 3, nextCursor: null })
    expect(await use('get_job', { jobId: org })).toMatchObject({ isError: true, text: `No such job: ${org}.` })
    expect(await use('find_devices', { limit: 500 })).toMatchObject({ isError: true })
    expect(await use('find_devices', { serial: 'S-4' })).toMatchObject({ isError: true })
    expect(await use('create_jobs', { kind: 'reboot', devices: ['S-4'] })).toMatchObject({ isError: true })
    await client.close()
  })
})

describe('with --allow-writes', () => {
  test('creates jobs only after a plan and its confirmation, which is for these arguments and works once', async () => {
    const { org, key, deviceId, groupId, audit } = await newFleet('W-1')
    const other = await newFleet('W-0')
    const jobs = async () => (await call('GET', `/orgs/${org}/jobs`)).items
    const { client, tools, use, names } = await overStdio(key, '--allow-writes')
    expect(names).toEqual([...reading, ...others, ...writing])
    const destructive = tools.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name)
    expect(destructive).toEqual(['create_jobs', 'apply_profile'])

    const reboot = { kind: 'reboot', devices: ['W-1'] }
    const planned = await use('create_jobs', reboot)
    expect(planned.value).toMatchObject({ done: false, plan: { kind: 'reboot', total: 1 }, result: null })
    expect(planned.text).toMatch(/^Nothing was changed yet\.\nWould create: reboot for 1 devices\./)
    expect(await jobs()).toEqual([])
    const { confirm } = planned.value
    const refused = { isError: true, text: expect.stringContaining('Nothing was changed: the confirmation') }
    expect(await use('create_jobs', { kind: 'speed_test', devices: ['W-1'], confirm })).toMatchObject(refused)
    expect(await use('create_jobs', { ...reboot, confirm: deviceId })).toMatchObject(refused)
    expect(await jobs()).toEqual([])

    const done = await use('create_jobs', { ...reboot, confirm })
    expect(done.value).toMatchObject({ done: true, result: { kind: 'reboot', total: 1 } })
    expect(await jobs()).toMatchObject([{ deviceId, kind: 'reboot' }])
    expect(await use('create_jobs', { ...reboot, confirm })).toMatchObject(refused)
    expect(await jobs()).toHaveLength(1)
    expect((await use('list_jobs', { batchId: done.value.result.batchId })).value.items).toHaveLength(1)
    expect(await audit('job_batch.created')).toMatchObject([{ actorName: 'Assistant' }])
    const steps = (await audit()).filter(({ subjectId }) => subjectId === 'create_jobs').map(({ detail }) => detail)
    expect(steps.at(-1)).toEqual({ about: 'reboot: W-1', step: 'plan' })
    expect(steps[0]).toEqual({ about: 'reboot: W-1', step: 'confirm' })

    for (const device of ['W-0', other.deviceId]) {
      const text = expect.stringMatching(/no device|No such device/)
      expect(await use('create_jobs', { kind: 'reboot', devices: [device] })).toMatchObject({ isError: true, text })
    }
    expect(await use('create_jobs', { ...reboot, groupId })).toMatchObject({ text: 'Send either devices or groupId.' })
    await client.close()
  })

  test('plans again if the plan has changed', async () => {
    const { org, key, groupId } = await newFleet('W-2')
    const { id: profileId } = await call('POST', `/orgs/${org}/configs`, { name: 'Wifi', settings: { ssid: 'bus' } })
    const { client, use } = await overStdio(key, '--allow-writes')
    const application = { profileId, groupId }
    const first = await use('apply_profile', application)
    expect(first.value.plan).toMatchObject({ total: 1, profile: { name: 'Wifi', version: 1 }, targetName: 'Buses' })
    await call('POST', '/devices', { organizationId: org, serial: 'W-3', name: 'Bus 3', model: 'RX', tags: ['bus'] })
    const second = await use('apply_profile', { ...application, confirm: first.value.confirm })
    expect(second).toMatchObject({ isError: false, value: { done: false, plan: { total: 2 } } })
    expect(second.text).toMatch(/^The plan has changed, and nothing was done\./)
    const done = await use('apply_profile', { ...application, confirm: second.value.confirm })
    expect(done.value).toMatchObject({ done: true, result: { kind: 'apply_config', total: 2 } })
    await client.close()
  })

  test('acknowledges alerts', async () => {
    const { org, key, deviceId } = await newFleet('W-4')
    await service.pool.query(
      "UPDATE device SET status = 'online', last_seen_at = now() - interval '1 hour' WHERE id = $1",
      [deviceId],
    )
    const condition = { kind: 'offline', forMinutes: 5 }
    await call('POST', `/orgs/${org}/alert-rules`, { name: 'Silent', severity: 'critical', condition })
    const { client, use } = await overStdio(key, '--allow-writes')
    const [alert] = await until('the alert is open', async () => {
      const { items } = (await use('list_alerts', { device: 'W-4', severity: 'critical' })).value
      return items.length > 0 ? items : undefined
    })
    const request = { alertIds: [alert.id], assignee: 'Ada', comment: 'Antenna.' }
    const planned = await use('acknowledge_alerts', request)
    expect(planned.value).toMatchObject({ done: false, plan: { open: 1, alerts: [{ ruleName: 'Silent' }] } })
    expect((await use('list_alerts')).value.items).toHaveLength(1)
    const done = await use('acknowledge_alerts', { ...request, confirm: planned.value.confirm })
    expect(done).toMatchObject({ text: 'Acknowledged 1 of 1 alerts.', value: { done: true, result: { changed: 1 } } })
    expect((await use('list_alerts', { states: ['acknowledged'] })).value.items).toMatchObject([
      { assignee: 'Ada', comment: 'Antenna.' },
    ])
    await client.close()
  })

  test('does no more than the scopes of the key', async () => {
    const { key, org } = await newFleet('W-5', 'viewer')
    const { client, use } = await overStdio(key, '--allow-writes')
    const text = expect.stringMatching(/job:create/)
    expect(await use('create_jobs', { kind: 'reboot', devices: ['W-5'] })).toMatchObject({ isError: true, text })
    expect((await call('GET', `/orgs/${org}/jobs`)).items).toEqual([])
    await client.close()
  })
})

describe('over HTTP', () => {
  let server: ChildProcess
  let url: URL
  beforeAll(async () => {
    server = spawn(program(), ['mcp', '--http', '0', '--allow-writes'], {
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (!server.stderr) throw new Error('The process has no standard error.')
    const [line] = (await once(createInterface(server.stderr), 'line')) as [string]
    url = new URL(line.replace('Listening on ', ''))
  })
  afterAll(async () => {
    server.kill()
    await once(server, 'exit')
  })

  const overHttp = (key: string) =>
    connected(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${key}` } } }))

  test('works for each caller with the own key', async () => {
    const [one, other] = [await newFleet('H-1'), await newFleet('H-2')]
    const [first, second] = [await overHttp(one.key), await overHttp(other.key)]
    expect((await first.use('find_devices')).value.items).toMatchObject([{ serial: 'H-1' }])
    expect((await second.use('find_devices')).value.items).toMatchObject([{ serial: 'H-2' }])
    expect(await second.use('device_signal', { device: one.deviceId })).toMatchObject({ isError: true })
    expect(await one.audit()).toMatchObject([{ subjectId: 'find_devices', actorName: 'Assistant' }])

    const reboot = { kind: 'reboot', groupId: one.groupId }
    const { confirm } = (await first.use('create_jobs', reboot)).value
    const foreign = await second.use('create_jobs', { ...reboot, confirm })
    expect(foreign).toMatchObject({ isError: true, text: expect.stringContaining('No such group') })
    expect((await first.use('create_jobs', { ...reboot, confirm })).value).toMatchObject({ done: true })

    const stranger = await overHttp('flk_wrong')
    expect(await stranger.use('find_devices')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^The token is .*\.$/),
    })
  })

  const send = async (method: string, headers: Record<string, string>, path = url.pathname) => {
    const outgoing = request({ host: url.hostname, port: url.port, path, method, headers })
    outgoing.end(method === 'POST' ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) : undefined)
    const [response] = await once(outgoing, 'response')
    response.resume()
    return response.statusCode as number
  }
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  test.for([
    [200, 'POST', {}, undefined],
    [401, 'POST', { authorization: '' }, undefined],
    [403, 'POST', { host: 'rebound.example.com' }, undefined],
    [403, 'POST', { origin: 'https://rebound.example.com' }, undefined],
    [404, 'POST', {}, '/other'],
    [405, 'GET', {}, undefined],
  ] as const)('%i for %s with %j at %s', async ([status, method, headers, path]) => {
    expect(await send(method, { ...json, authorization: 'Bearer flk_x', ...headers }, path)).toBe(status)
  })
})

/** The inspector of the protocol, from the PATH or from the folder where `.ci/run` installs it. */
function findInspector(): string | undefined {
  if (spawnSync('mcp-inspector', ['--version']).status === 0) return 'mcp-inspector'
  const local = resolve('.cache/mcp-inspector/node_modules/.bin/mcp-inspector')
  return existsSync(local) ? local : undefined
}

test('the inspector of the protocol accepts the schemas of all tools and calls one', async ({ skip }) => {
  const inspector = findInspector()
  if (!inspector) return skip('needs mcp-inspector (.ci/run installs it)')
  const { key } = await newFleet('I-1')
  const inspect = async (...args: string[]) => {
    const target = [program(), 'mcp', '--allow-writes']
    const variables = Object.entries(environment(key)).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const { stdout } = await run(inspector, ['--cli', ...variables, ...target, ...args], { env: environment() })
    return JSON.parse(stdout)
  }
  const { tools } = await inspect('--method', 'tools/list', '--strict')
  expect(tools).toHaveLength(reading.length + others.length + writing.length)
  const found = await inspect('--method', 'tools/call', '--tool-name', 'find_devices', '--tool-arg', 'query=Bus')
  expect(found.structuredContent).toMatchObject({ items: [{ serial: 'I-1' }] })
}, 60_000)
