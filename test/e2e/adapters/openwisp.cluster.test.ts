import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import {
  type AdapterRouter,
  type AdapterService,
  payloadsMissing,
  readPayload,
  startAdapterService,
} from '#test/adapter-service'
import { installOpenwispAgent, openwispAgentMissing } from '#test/openwisp-agent'
import { newOpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { until } from '#test/until'

let service: AdapterService
beforeAll(async () => {
  service = await startAdapterService()
}, 120_000)
afterAll(() => service.close())

const json = { 'content-type': 'application/json' }

/** The time as the agent writes it, `23-11-2026_01:02:03.000000`. */
function agentTime(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return `${date.split('-').reverse().join('-')}_${time.slice(0, 8)}.000000`
}

const pathOf = ({ id, token }: Pick<AdapterRouter, 'id' | 'token'>, more = '') =>
  `/adapters/openwisp/api/v1/monitoring/device/${id}/?key=${token}${more}`

const uptime = (uptimeS: number) => JSON.stringify({ type: 'DeviceMonitoring', general: { uptime: uptimeS } })

test('the recorded report can be read field by field', async ({ skip }) => {
  if (payloadsMissing !== null) return skip(payloadsMissing)
  const router = await service.newRouter()
  const takenMs = Math.floor(Date.now() / 1_000) * 1_000 - 2_000
  const path = pathOf(router, `&time=${agentTime(takenMs)}&current=true`)
  const answer = await service.send(path, readPayload('openwisp-netjson-mobile.json'), json)
  expect([answer.status, answer.text]).toEqual([200, 'null'])
  const { cellular, connection } = await service.latest(router, 'cellular', 'connection')
  const ts = new Date(takenMs).toISOString()
  expect(cellular).toMatchObject({
    ts,
    rat: 'lte',
    plmn: '50502',
    operatorName: 'YES OPTUS',
    rsrpDbm: -75,
    rsrqDb: -8,
    rssiDbm: -51,
    sinrDb: 13,
    nrRsrpDbm: null,
  })
  expect(connection).toMatchObject({
    ts,
    state: 'connected',
    interface: 'mobile0',
    rat: 'lte',
    plmn: '50502',
    operatorName: 'YES OPTUS',
  })
  const dropped = (field: string) =>
    service.metric('telemetry_adapter_fields_dropped_total', ['source="openwisp"', `field="${field}"`])
  expect(await dropped('interfaces.mobile.imei')).toBe(1)
  expect(await dropped('interfaces.mobile.signal.lte.rsrp')).toBe(0)
})

test('the stock agent delivers what it has buffered, with its time', async ({ skip }) => {
  const missing = openwispAgentMissing ?? openwrtMissing
  if (missing !== null) return skip(missing)
  const device = await service.newRouter()
  const router = newOpenwrtRouter({})
  const address = { 'ipv4-address': [{ address: '100.64.0.7', mask: 32 }], 'ipv6-address': [] }
  const uplink = { interface: 'wwan', proto: 'modemmanager', l3_device: 'wwan0', route: [], ...address }
  const agent = installOpenwispAgent(router, {
    ubus: {
      'system info': { uptime: 1_234, memory: { total: 100_000_000, available: 75_000_000 }, swap: {} },
      'system board': { hostname: 'router' },
      'network.interface dump': { interface: [{ ...uplink, 'dns-search': [], 'dns-server': [] }] },
      'network.device status': {
        wwan0: { type: 'Network device', up: true, statistics: { rx_bytes: 4_096, tx_bytes: 2_048 } },
      },
    },
    modem: {
      modem: {
        '3gpp': { imei: '352099001761481', 'operator-code': '26203', 'operator-name': 'Net 1' },
        generic: { model: 'EM12-G', state: 'connected', 'power-state': 'on' },
      },
    },
    signal: {
      modem: {
        signal: {
          refresh: { rate: '3' },
          lte: { rsrp: '-92.00', rsrq: '-9.00', rssi: '-64.00', snr: '19.20' },
          umts: { ecio: '--', rscp: '--', rssi: '--' },
        },
      },
    },
  })
  try {
    agent.collect()
    await until('two reports wait', async () => agent.waiting() >= 2)
    agent.send(`${service.url}/adapters/openwisp`, device)
    const latest = await service.latest(device, 'cellular', 'connection', 'system')
    expect(latest).toMatchObject({
      cellular: { rat: 'lte', plmn: '26203', rsrpDbm: -92, rsrqDb: -9, rssiDbm: -64, sinrDb: 19.2 },
      connection: { state: 'connected', interface: 'wwan0', wanIp: '100.64.0.7', rxBytes: 4_096, txBytes: 2_048 },
      system: { uptimeS: 1_234, memUsedPct: 25 },
    })
    const history = `/api/router/${device.id}/telemetry/history?kind=system`
    await until('both times can be read', async () => (await service.admin('GET', history)).items.length >= 2)
  } catch (error) {
    throw new Error(router.output(), { cause: error })
  } finally {
    await router.remove()
  }
})

test('a buffered report keeps its time', async () => {
  const router = await service.newRouter()
  const takenMs = Math.floor(Date.now() / 1_000) * 1_000 - 3 * 3_600_000
  expect((await service.send(pathOf(router, `&time=${agentTime(takenMs)}`), uptime(77), json)).status).toBe(200)
  const { system } = await service.latest(router, 'system')
  expect(system).toMatchObject({ ts: new Date(takenMs).toISOString(), uptimeS: 77 })
})

test('the key is in no log', async () => {
  const router = await service.newRouter()
  const path = pathOf(router)
  expect((await service.send(path, uptime(1), json)).status).toBe(200)
  for (const [wrong, body] of [
    [path, '{'],
    [`${path}&time=never`, uptime(1)],
    [path.replace('/?', '/more?'), ''],
    [path.replace(router.id, newId()), uptime(1)],
    [path.slice(0, -1), uptime(1)],
  ] as const) {
    expect((await service.send(wrong, body, json)).status).toBeGreaterThanOrEqual(400)
  }
  const secret = router.token.split('_')[2] ?? router.token
  await expect.poll(() => service.output()).toContain('/adapters/openwisp')
  expect(service.output()).not.toContain(secret)
})

test('errors have the form of the OpenWISP API', async () => {
  const router = await service.newRouter()
  const path = pathOf(router)
  const unknown = pathOf({ id: router.id, token: issueToken('fld').token })
  const old = pathOf(router, `&time=${agentTime(Date.UTC(2021, 0, 1))}`)
  const other = pathOf({ ...router, id: newId() })
  const tooLarge = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  const labels = ['source="openwisp"', 'code="invalid_json"']
  const refusedBefore = await service.metric('telemetry_reports_refused_total', labels)
  for (const [status, where, body, headers] of [
    [401, path.split('?')[0] ?? '', uptime(1), json],
    [401, `${path.split('?')[0]}?key=fld_wrong`, uptime(1), json],
    [401, unknown, uptime(1), json],
    [404, other, uptime(1), json],
    [415, path, uptime(1), { 'content-type': 'text/plain' }],
    [413, path, tooLarge, { ...json, 'content-encoding': 'gzip' }],
    [413, path, Buffer.alloc(1024 * 1024 + 1, ' '), json],
    [400, path, '', json],
    [400, path, '[1]', json],
    [400, path, '['.repeat(1024 * 1024), json],
    [400, `${path}&time=yesterday`, uptime(1), json],
    [400, old, uptime(1), json],
  ] as const) {
    const answer = await service.send(where, body, headers)
    expect([answer.status, answer.headers.get('content-type')], where.split('?')[0]).toEqual([
      status,
      'application/json',
    ])
    expect(Object.keys(answer.json)).toEqual(['detail'])
    expect(answer.headers.get('x-request-id')).toBeTruthy()
  }
  // The figures of a busy process come later than its answers.
  await expect.poll(() => service.metric('telemetry_reports_refused_total', labels)).toBe(refusedBefore + 2)
  expect(await service.metric('telemetry_samples_rejected_total', ['source="openwisp"'])).toBe(1)
})

test('429 after the burst of the device, which it shares with its other reports', async () => {
  const router = await service.newRouter()
  const statuses: number[] = []
  const ownStatuses: number[] = []
  const headers = { ...json, authorization: `Bearer ${router.token}` }
  for (let round = 0; !(statuses.includes(429) && ownStatuses.includes(429)) && round < 60; round += 1) {
    const sent = Array.from({ length: 20 }, () => service.send(pathOf(router), '{', json))
    const own = [1, 2].map(() => service.send('/telemetry', '{', headers))
    statuses.push(...(await Promise.all(sent)).map(({ status }) => status))
    ownStatuses.push(...(await Promise.all(own)).map(({ status }) => status))
  }
  expect(new Set(statuses)).toEqual(new Set([400, 429]))
  // Alone, these are fewer than the burst of 240.
  expect(ownStatuses).toContain(429)
  expect(ownStatuses.length).toBeLessThanOrEqual(120)
})

test('401 for an unknown key before the body has arrived', async () => {
  const path = pathOf({ id: newId(), token: issueToken('fld').token })
  const upload = request(service.url + path, { method: 'POST', headers: { ...json, 'content-length': 1024 * 1024 } })
  upload.on('error', () => {})
  upload.flushHeaders()
  const [response] = await once(upload, 'response')
  expect(response.statusCode).toBe(401)
  upload.destroy()
})
