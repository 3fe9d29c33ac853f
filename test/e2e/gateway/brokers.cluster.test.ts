import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AdapterRouter, type AdapterService, startAdapterService } from '#test/adapter-service'
import { startTestGateway, type TestGateway } from '#test/gateway'
import { type Mosquitto, mosquittoMissing, startMosquitto } from '#test/mosquitto'
import { otherTls, testTls } from '#test/tls'
import { until } from '#test/until'
import { freePort } from '../../../apps/stack/engines/process.ts'

let service: AdapterService
let broker: Mosquitto
let devices: MqttClient
let tlsPort: number
let certificatePort: number
let started: TestGateway[] = []
let clientCount = 0
const folder = mkdtempSync(join(tmpdir(), 'brokers-'))
const path = (name: string) => join(folder, name)

beforeAll(async () => {
  if (mosquittoMissing !== null) return
  for (const [name, pair] of Object.entries({ test: testTls, other: otherTls })) {
    writeFileSync(path(`${name}.crt`), pair.cert)
    writeFileSync(path(`${name}.key`), pair.key)
  }
  ;[tlsPort, certificatePort] = [await freePort(), await freePort()]
  const files = [`cafile ${path('test.crt')}`, `certfile ${path('test.crt')}`, `keyfile ${path('test.key')}`]
  const listeners = [
    `listener ${tlsPort} 127.0.0.1`,
    ...files,
    `listener ${certificatePort} 127.0.0.1`,
    ...files,
    'require_certificate true',
  ]
  ;[service, broker] = await Promise.all([startAdapterService(), startMosquitto(listeners)])
  devices = await connectAsync(broker.url)
}, 120_000)
beforeEach(({ skip }) => skip(mosquittoMissing !== null, mosquittoMissing ?? ''))
afterEach(async () => {
  await Promise.all(started.map((gateway) => gateway.stop()))
  started = []
})
afterAll(async () => {
  await devices?.endAsync()
  await broker?.close()
  await service?.close()
  rmSync(folder, { recursive: true })
})

/** Starts a gateway, which the end of the test stops. */
async function newGateway(environment: Record<string, string>, newGatewayKey = service.newGatewayKey) {
  clientCount += 1
  const settings = { MQTT_URL: broker.url, MQTT_CLIENT_ID: `gateway-${clientCount}`, ...environment }
  const gateway = await startTestGateway({ url: service.url, newGatewayKey }, settings)
  started.push(gateway)
  return gateway
}

async function kill(gateway: TestGateway): Promise<void> {
  started = started.filter((one) => one !== gateway)
  await gateway.kill()
}

const topicOf = ({ serial }: AdapterRouter) => `routerfleet/${serial}/telemetry`
const reportOf = (fields: object) => JSON.stringify({ samples: [{ kind: 'system', ...fields }] })
const report = (router: AdapterRouter, fields: object, client = devices) =>
  client.publishAsync(topicOf(router), reportOf(fields), { qos: 1 })

/** Returns `cpuPct` of all rows of a router, in ascending order. */
async function stored(router: AdapterRouter): Promise<number[]> {
  const history = `/api/router/${router.id}/telemetry/history?sinceMinutes=60&kind=system&limit=1000`
  const { items } = await service.admin('GET', history)
  return items.map(({ cpuPct }: { cpuPct: number }) => cpuPct).sort((a: number, b: number) => a - b)
}

const accepted = (gateway: TestGateway) => gateway.metric('gateway_messages_total', ['outcome="accepted"'])
const refused = (gateway: TestGateway, reason: string) =>
  gateway.metric('gateway_messages_total', ['outcome="refused"', `reason="${reason}"`])
async function readiness(gateway: TestGateway) {
  const answer = await fetch(`${gateway.url}/readyz`)
  return { status: answer.status, text: await answer.text() }
}

/**
 * Reports without a pause: 2,000 reports at a time wait for an answer, twice as many as the window of the gateway holds.
 * `answered` is `cpuPct` by status of the answer.
 */
async function startFlood(router: AdapterRouter) {
  const client = await connectAsync(broker.url, { protocolVersion: 5 })
  const responseTopic = `routerfleet/${router.serial}/answers`
  const answered = new Map<number, Set<number>>()
  const startMs = Date.now() - 3_000_000
  let count = 0
  const send = () => {
    count += 1
    const cpuPct = (count % 10_000) / 100
    const properties = { responseTopic, correlationData: Buffer.from(String(cpuPct)) }
    const body = reportOf({ ts: startMs + (count % 10_000) * 100, cpuPct })
    client.publish(topicOf(router), body, { qos: 1, properties })
  }
  client.on('message', (_topic, payload, { properties }) => {
    const { httpStatus } = JSON.parse(payload.toString())
    answered.set(httpStatus, (answered.get(httpStatus) ?? new Set()).add(Number(properties?.correlationData)))
    send()
  })
  await client.subscribeAsync(responseTopic)
  for (let waiting = 0; waiting < 2_000; waiting += 1) send()
  return { answered, stop: () => client.endAsync(true) }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe('brokers', () => {
  const tls = () => ({ MQTT_URL: `mqtts://127.0.0.1:${tlsPort}`, MQTT_CA_FILE: path('test.crt') })
  const certificate = (name: string) => ({
    ...tls(),
    MQTT_URL: `mqtts://127.0.0.1:${certificatePort}`,
    MQTT_CERT_FILE: path(`${name}.crt`),
    MQTT_KEY_FILE: path(`${name}.key`),
  })

  test.each([
    ['MQTT 5 and TLS', () => tls()],
    ['MQTT 3.1.1 and TLS', () => ({ ...tls(), MQTT_VERSION: '4' })],
    ['MQTT 5, TLS and the certificate of the gateway', () => certificate('test')],
  ])('%s', async (_name, settings) => {
    const gateway = await newGateway(settings())
    await gateway.untilReady()
    const router = await service.newRouter()
    await report(router, { cpuPct: 21 })
    expect((await service.latest(router, 'system')).system).toMatchObject({ cpuPct: 21 })
  })

  test.each([
    ['the broker does not know the certificate of the gateway', () => certificate('other')],
    ['the gateway does not know the certificate of the broker', () => ({ ...tls(), MQTT_CA_FILE: path('other.crt') })],
  ])('%s: it is not ready and says why', async (_name, settings) => {
    const gateway = await newGateway(settings())
    await until('the failure is logged', async () => /"broker_failed"|"broker_lost"/.test(gateway.output()))
    expect(await readiness(gateway)).toEqual({ status: 503, text: expect.stringContaining('broker') })
    expect(await gateway.metric('gateway_broker_connections_total')).toBe(0)
  })

  test('two gateways divide the messages, and a killed one loses nothing', async () => {
    const router = await service.newRouter()
    const share = { MQTT_SHARED_GROUP: 'replicas' }
    const [first, second] = await Promise.all([
      newGateway({ ...share, MQTT_CLIENT_ID: 'replica-1' }),
      newGateway({ ...share, MQTT_CLIENT_ID: 'replica-2' }),
    ])
    await Promise.all([first.untilReady(), second.untilReady()])
    const startMs = Date.now() - 600_000
    const send = (count: number) => report(router, { ts: startMs + count * 1_000, cpuPct: count })
    await Promise.all(numbers(0, 30).map(send))
    await until('all are accepted', async () => (await accepted(first)) + (await accepted(second)) === 30)
    expect(await accepted(first)).toBeGreaterThan(5)
    expect(await accepted(second)).toBeGreaterThan(5)

    const sent = Promise.all(numbers(30, 60).map(send))
    await kill(first)
    await sent
    await Promise.all(numbers(60, 90).map(send))
    // The broker keeps its share for a replica that comes back with the same name.
    await newGateway({ ...share, MQTT_CLIENT_ID: 'replica-1' })
    await until('all rows can be read', async () => (await stored(router)).length >= 90, 60_000)
    expect(await stored(router)).toEqual(numbers(0, 90))
  }, 120_000)

  test('messages wait while the key of the gateway is revoked', async () => {
    const router = await service.newRouter()
    const keys = `/orgs/${service.organizationId}/enrollment-keys`
    const { id, key } = await service.admin('POST', keys, { name: 'Lost', autoCreate: false, allowGateway: true })
    const gateway = await newGateway({ MQTT_CLIENT_ID: 'rotated' }, async () => key)
    await gateway.untilReady()
    await report(router, { cpuPct: 0 })
    await until('the first is accepted', async () => (await accepted(gateway)) === 1)
    await fetch(`${service.url}${keys}/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${service.adminKey}` },
    })
    // As the router, because what the key opens is kept for each device.
    const headers = { authorization: `Bearer ${key}`, 'routerfleet-device': `serial=${router.serial}` }
    const knock = () => fetch(`${service.url}/device/jobs/next?waitSeconds=0`, { headers })
    await until('the revocation has taken effect', async () => (await knock()).status === 401)
    for (const cpuPct of [1, 2, 3]) await report(router, { ts: Date.now() - cpuPct * 1_000, cpuPct })
    await until('the messages wait', async () => (await gateway.metric('gateway_waiting_messages')) === 3)
    const answer = await until('it is not ready', async () => {
      const { status, text } = await readiness(gateway)
      return status === 503 && text
    })
    expect(answer).toContain('401')
    await kill(gateway)
    await newGateway({ MQTT_CLIENT_ID: 'rotated' })
    await until('all rows can be read', async () => (await stored(router)).length >= 4)
    expect(await stored(router)).toEqual([0, 1, 2, 3])
  }, 120_000)

  test('a flooding device delays no other, and is answered which reports were refused', async () => {
    const [flooding, bystander] = [await service.newRouter(), await service.newRouter()]
    const gateway = await newGateway({})
    await gateway.untilReady()
    const flood = await startFlood(flooding)
    try {
      await until('messages wait', async () => (await gateway.metric('gateway_waiting_messages')) >= 500)
      await report(bystander, { cpuPct: 44 })
      await until('the report can be read', async () => (await stored(bystander)).includes(44), 60_000)
      // It did not wait in line behind the flood.
      expect(await gateway.metric('gateway_over_rate_messages')).toBeGreaterThan(400)
    } finally {
      await flood.stop()
    }
    expect(await refused(gateway, 'rate_limited')).toBeGreaterThan(0)
    expect(flood.answered.get(429)?.size).toBeGreaterThan(0)
    const acceptedReports = [...(flood.answered.get(202) ?? [])]
    expect(acceptedReports.length).toBeGreaterThan(200)
    await until('what was accepted can be read', async () => {
      const found = new Set(await stored(flooding))
      return acceptedReports.every((cpuPct) => found.has(cpuPct))
    })
    // A stop would wait for the messages that are over the rate.
    await kill(gateway)
  }, 120_000)

  test.each(['5', '4'])('oversized messages delay nothing with protocol version %s', async (version) => {
    const router = await service.newRouter()
    const gateway = await newGateway({ MQTT_VERSION: version })
    await gateway.untilReady()
    const mebibyte = 1024 * 1024
    await devices.publishAsync(topicOf(router), Buffer.alloc(mebibyte + 1, ' '), { qos: 1 })
    // With version 5, the gateway does not receive this one.
    await devices.publishAsync(topicOf(router), Buffer.alloc(2 * mebibyte, ' '), { qos: 1 })
    await report(router, { cpuPct: 12 })
    expect((await service.latest(router, 'system')).system).toMatchObject({ cpuPct: 12 })
    expect(await refused(gateway, 'body_too_large')).toBe(version === '5' ? 1 : 2)
    expect(await gateway.metric('gateway_waiting_messages')).toBe(0)
  })

  test('a repeated message is one row, and a retained one is ignored with MQTT 3.1.1 too', async () => {
    const router = await service.newRouter()
    const kept = await service.newRouter()
    await devices.publishAsync(topicOf(kept), reportOf({ cpuPct: 1 }), { qos: 1, retain: true })
    const gateway = await newGateway({ MQTT_VERSION: '4' })
    await gateway.untilReady()
    const ts = Date.now() - 5_000
    for (const cpuPct of [5, 5, 5]) await report(router, { ts, cpuPct })
    await report(router, { ts: ts + 1_000, cpuPct: 6 })
    await until('all are accepted', async () => (await accepted(gateway)) === 4)
    await until('both can be read', async () => (await stored(router)).length === 2)
    expect(await stored(router)).toEqual([5, 6])
    expect(await gateway.metric('gateway_messages_total', ['reason="retained"'])).toBeGreaterThan(0)
    expect(await stored(kept)).toEqual([])
    await devices.publishAsync(topicOf(kept), '', { qos: 1, retain: true })
  })
})

describe('a broker with accounts', () => {
  let strict: Mosquitto | undefined
  afterEach(() => strict?.close())

  test('a device reaches its own topics only, and the gateway waits until its account exists', async () => {
    const [own, other] = [await service.newRouter(), await service.newRouter()]
    const addUser = (name: string) =>
      execFileSync('mosquitto_passwd', ['-b', path('users'), name, `${name}-secret`], { stdio: 'ignore' })
    writeFileSync(path('users'), '')
    addUser(own.serial)
    const rules = ['user gateway', 'topic readwrite #', 'pattern readwrite routerfleet/%u/#']
    writeFileSync(path('rules'), `${rules.join('\n')}\n`)
    strict = await startMosquitto([
      'allow_anonymous false',
      `password_file ${path('users')}`,
      `acl_file ${path('rules')}`,
    ])
    const gateway = await newGateway({
      MQTT_URL: strict.url,
      MQTT_USERNAME: 'gateway',
      MQTT_PASSWORD: 'gateway-secret',
    })
    await until('the broker refuses the gateway', async () => gateway.output().includes('"broker_failed"'))
    addUser('gateway')
    await strict.kill()
    await strict.start()
    await gateway.untilReady()

    const login = { username: own.serial, password: `${own.serial}-secret` }
    const device = await connectAsync(strict.url, { ...login, protocolVersion: 5 })
    await expect(report(other, { cpuPct: 66 }, device)).rejects.toThrow('Not authorized')
    await report(own, { cpuPct: 33 }, device)
    expect((await service.latest(own, 'system')).system).toMatchObject({ cpuPct: 33 })
    expect(await accepted(gateway)).toBe(1)
    expect(await stored(other)).toEqual([])
    await device.endAsync()
  })
})
