import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectAsync } from 'mqtt'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { withChecksum } from '#adapters/nmea/sentence'
import { type AdapterService, payloadsMissing, readPayload, startAdapterService } from '#test/adapter-service'
import { startTestGateway, type TestGateway } from '#test/gateway'
import { type Mosquitto, mosquittoMissing, startMosquitto } from '#test/mosquitto'
import { until } from '#test/until'

const run = promisify(execFile)
let service: AdapterService
let broker: Mosquitto
let gateway: TestGateway
beforeAll(async () => {
  if (mosquittoMissing !== null) return
  ;[service, broker] = await Promise.all([startAdapterService(), startMosquitto()])
  gateway = await startTestGateway(service, {
    MQTT_URL: broker.url,
    MQTT_CLIENT_ID: 'gateway-test',
    MQTT_TOPICS: 'fleet/{imei}/modem=modemmanager,nmea/{serial}/+=nmea',
  })
  await gateway.untilReady()
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await broker?.close()
  await service?.close()
})

beforeEach(({ skip }) => skip(mosquittoMissing !== null, mosquittoMissing ?? ''))
const accepted = () => gateway.metric('gateway_messages_total', ['outcome="accepted"'])
const refused = (reason: string) =>
  gateway.metric('gateway_messages_total', ['outcome="refused"', `reason="${reason}"`])

/** Publishes over one connection, so that a busy machine does not come between the messages. */
async function publishAtOnce(messages: [topic: string, payload: string][]): Promise<void> {
  const publisher = await connectAsync(broker.url)
  await Promise.all(messages.map(([topic, payload]) => publisher.publishAsync(topic, payload, { qos: 1 })))
  await publisher.endAsync()
}

describe('MQTT through Mosquitto', () => {
  test('sentences and objects of one time are one row, although each comes in a message of its own', async () => {
    const [receiver, watched] = [await service.newRouter(), await service.newRouter()]
    const time = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 5_000).toISOString()
    const [day = '', ofDay = ''] = time.slice(2, 19).split('T')
    const [hhmmss, ddmmyy] = [ofDay.replaceAll(':', ''), day.split('-').reverse().join('')]
    const gga = withChecksum(`GNGGA,${hhmmss},4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,`)
    const rmc = withChecksum(`GNRMC,${hhmmss},A,4807.038,N,01131.000,E,010.0,084.4,${ddmmyy},,,A`)
    for (const [topic, payload] of [
      [`nmea/${receiver.serial}/GGA`, gga],
      [`nmea/${receiver.serial}/RMC`, rmc],
      [`gpsd/${watched.serial}/SKY`, JSON.stringify({ class: 'SKY', time, hdop: 1.1, uSat: 9 })],
      [`gpsd/${watched.serial}/TPV`, JSON.stringify({ class: 'TPV', time, mode: 3, lat: 50, lon: 8 })],
    ] as const)
      await broker.publish(topic, payload)
    await until('both rows are complete', async () => {
      const [{ location: one }, { location: other }] = await Promise.all([
        service.latest(receiver, 'location'),
        service.latest(watched, 'location'),
      ])
      return one?.satellites === 8 && one.headingDeg === 84.4 && other?.satellites === 9 && other.lat === 50
    })
  })

  test('a report in our own format can be read, and the answer comes back', async () => {
    const router = await service.newRouter()
    const ts = Date.now() - 5_000
    const body = JSON.stringify({ samples: [{ kind: 'cellular', ts, rat: 'lte', rsrpDbm: -97 }, { kind: 'pigeon' }] })
    const answers = `routerfleet/${router.serial}/answers`
    const answer = broker.subscribe(answers, 1, ['-V', '5'])
    await until('the answer arrives', async () => {
      await broker.publish(`routerfleet/${router.serial}/telemetry`, body, [
        '-V',
        '5',
        '-D',
        'publish',
        'response-topic',
        answers,
      ])
      return Promise.race([answer.then(() => true), new Promise<false>((done) => setTimeout(done, 1_000, false))])
    })
    expect(JSON.parse(await answer)).toMatchObject({
      httpStatus: 202,
      accepted: 1,
      rejected: [{ index: 1, code: 'unknown_kind' }],
      jobsPending: 0,
    })
    const { cellular } = await service.latest(router, 'cellular')
    expect(cellular).toMatchObject({ ts: new Date(ts).toISOString(), rat: 'lte', rsrpDbm: -97 })
    await expect.poll(() => service.metric('telemetry_report_bytes_total', ['source="gateway"'])).toBeGreaterThan(0)
  })

  test('unknown devices, other topics and broken bodies are acknowledged and counted', async () => {
    const router = await service.newRouter()
    const topic = `routerfleet/${router.serial}/telemetry`
    await broker.publish('routerfleet/NOBODY/telemetry', '{"samples": [{"kind": "system", "cpuPct": 5}]}')
    await until('the unknown device is counted', async () => (await refused('device_unknown')) === 1)
    await broker.publish(topic, '{')
    await until('the broken body is counted', async () => (await refused('invalid_request')) === 1)
    await broker.publish(topic, JSON.stringify({ samples: [{ kind: 'system', cpuPct: 41 }] }))
    expect((await service.latest(router, 'system')).system).toMatchObject({ cpuPct: 41 })
    await until('nothing waits', async () => (await gateway.metric('gateway_waiting_messages')) === 0)
  })

  test('every alarm of the gateway uses metrics and labels that it exports', async () => {
    const rules = readFileSync(join(import.meta.dirname, '../../../deploy/prometheus/rules.yml'), 'utf8')
    const { groups } = parse(rules) as { groups: { name: string; rules: { expr: string }[] }[] }
    const own = groups.find(({ name }) => name === 'routerfleet-gateway')?.rules ?? []
    const metrics = own.flatMap(({ expr }) => [...expr.matchAll(/gateway_\w+/g)].map(([name]) => name))
    expect(new Set(metrics).size).toBe(3)
    const exposition = await (await fetch(`${gateway.url}/metrics`)).text()
    expect(metrics.filter((name) => !exposition.includes(`\n${name}`))).toEqual([])
    expect(exposition).toMatch(/^gateway_messages_total\{.*outcome="refused"/m)
  })

  test('a parameter of the Teltonika publisher', async () => {
    const router = await service.newRouter()
    await broker.publish(`router/${router.serial}/temperature`, '415')
    await broker.publish(`router/${router.serial}/signal`, '-67')
    const { system, cellular } = await service.latest(router, 'system', 'cellular')
    expect([system, cellular]).toMatchObject([{ modemTemperatureC: 41.5 }, { rssiDbm: -67 }])
  })

  test('values that come one after another are one sample', async () => {
    const router = await service.newRouter()
    const values = { temperature: '405', signal: '-72', network: '4G', operator: 'Operator Z', connection: 'Connected' }
    await publishAtOnce(Object.entries(values).map(([name, value]) => [`router/${router.serial}/${name}`, value]))
    const rows = (kind: string) =>
      service.admin('GET', `/api/router/${router.id}/telemetry/history?kind=${kind}`).then(({ items }) => items)
    const [cellular] = await until('the values can be read', async () => {
      const items = await rows('cellular')
      return items[0]?.operatorName ? items : undefined
    })
    expect(cellular).toMatchObject({ rssiDbm: -72, rat: 'lte', operatorName: 'Operator Z' })
    await until('the state can be read', async () => (await rows('connection'))[0]?.state === 'connected')
    const found = [await rows('cellular'), await rows('connection'), await rows('system')]
    expect(found.map((items) => items.length)).toEqual([1, 1, 1])
    expect(found[2][0]).toMatchObject({ modemTemperatureC: 40.5, ts: cellular.ts })
  })

  test('parts of a modem are one sample', async () => {
    const router = await service.newRouter()
    const parts = [
      { generic: { state: 'connected', 'access-technologies': ['lte'] }, '3gpp': { 'operator-code': '26203' } },
      { signal: { lte: { rsrp: '-93.00', rsrq: '-9.00' } } },
      { location: { '3gpp': { cid: '0197763E', mcc: '262', mnc: '03', tac: '00C945' } } },
    ]
    await publishAtOnce(parts.map((modem) => [`modemmanager/${router.serial}/all`, JSON.stringify({ modem })]))
    await until('the last part can be read', async () => {
      return (await service.latest(router, 'cellular')).cellular?.tac === '51525'
    })
    const { cellular } = await service.latest(router, 'cellular')
    expect(cellular).toMatchObject({ rat: 'lte', plmn: '26203', rsrpDbm: -93, rsrqDb: -9, cellId: '26703422' })
  })

  test('a message of which nothing is understood is counted as refused', async () => {
    const router = await service.newRouter()
    const [before, none] = [await refused('nothing_understood'), await refused('unknown_kind')]
    await broker.publish(`router/${router.serial}/colour`, 'red')
    await broker.publish(`teltonika/${router.serial}/data`, '{"Collection1": {"imei": "1"}}')
    await broker.publish(`routerfleet/${router.serial}/telemetry`, '{"samples": [{"kind": "pigeon"}]}')
    await until('all are counted', async () => {
      return (await refused('nothing_understood')) === before + 2 && (await refused('unknown_kind')) === none + 1
    })
  })

  test('the recorded status of a Teltonika modem', async ({ skip }) => {
    if (payloadsMissing !== null) return skip(payloadsMissing)
    const router = await service.newRouter()
    await broker.publish(`teltonika/${router.serial}/data`, readPayload('teltonika-rutos-status_full.json'))
    const { cellular, connection } = await service.latest(router, 'cellular', 'connection')
    expect(cellular).toMatchObject({ rat: 'lte', plmn: '22201', rsrpDbm: -102, rsrqDb: -12, cellId: '76957227' })
    expect(connection).toMatchObject({ state: 'connected', registration: 'home', iccid: '8939000000000000000' })
  })

  test('the recorded messages of InHand gateways', async ({ skip }) => {
    if (payloadsMissing !== null) return skip(payloadsMissing)
    const router = await service.newRouter()
    const seconds = Math.floor(Date.now() / 1_000) - 60
    const times = ['gnss.ts', 'modem1.ts', 'sysinfo.ts', 'time']
    for (const line of readPayload('inhand-flexapi.ndjson').trim().split('\n').slice(2)) {
      const { topic, payload } = JSON.parse(line)
      for (const name of times) if (name in payload) payload[name] = seconds
      await broker.publish(topic.replace('VF3102021111601', router.serial), JSON.stringify(payload))
    }
    const latest = await service.latest(router, 'cellular', 'connection', 'location', 'system')
    const ts = new Date(seconds * 1_000).toISOString()
    expect(latest.location).toMatchObject({
      ...{ ts, fixTs: ts, lat: 30.587942, lon: 104.053543, altitudeM: 480.399994 },
      ...{ headingDeg: 0, hdop: 0.9, satellites: 11 },
    })
    expect(latest.cellular).toMatchObject({
      ...{ ts, rat: 'lte', plmn: '46011', tac: '59904', cellId: '242719617' },
      ...{ rssiDbm: null, rsrpDbm: null, rsrqDb: null },
    })
    expect(latest.connection).toMatchObject({
      ...{ registration: 'home', plmn: '46011', rat: 'lte', wanIp: '10.136.143.193' },
      ...{ imsi: '460110000000000', iccid: '89860000000000000000' },
    })
    expect(latest.system).toMatchObject({ firmware: 'VT3_V1.1.32' })
  })

  test('the recorded outputs of ModemManager, for a device by its IMEI', async ({ skip }) => {
    if (payloadsMissing !== null) return skip(payloadsMissing)
    const router = await service.newRouter()
    await service.admin('PUT', `/devices/${router.id}/identifiers`, { imei: ['352099001761481'] })
    const [lte = '', , location = ''] = readPayload('modemmanager.ndjson').trim().split('\n')
    await broker.publish('fleet/352099001761481/modem', lte)
    const { cellular } = await service.latest(router, 'cellular')
    expect(cellular).toMatchObject({ rat: 'lte', rsrpDbm: -92, rsrqDb: -9, rssiDbm: -64, sinrDb: 19.2 })
    await broker.publish(`modemmanager/${router.serial}/location`, location)
    await until(
      'the cell can be read',
      async () => (await service.latest(router, 'cellular')).cellular?.cellId ?? false,
    )
    const latest = await service.latest(router, 'cellular')
    expect(latest.cellular).toMatchObject({ plmn: '26203', cellId: '26703422', tac: '51525' })
    expect(latest.location).toBeNull()
  })

  test('a job reaches a device that reports, and its result comes back', async () => {
    const router = await service.newRouter({ hasToken: false })
    const topic = (rest: string) => `routerfleet/${router.serial}/${rest}`
    const job = await service.admin('POST', `/devices/${router.id}/jobs`, { kind: 'collect_diagnostics' })
    const offered = broker.subscribe(topic('jobs'), 1)
    await until('the job is offered', async () => {
      await broker.publish(topic('telemetry'), JSON.stringify({ samples: [{ kind: 'system', cpuPct: 5 }] }))
      return Promise.race([offered.then(() => true), new Promise<false>((done) => setTimeout(done, 500, false))])
    })
    const handed = JSON.parse(await offered)
    expect(handed).toMatchObject({ id: job.id, kind: 'collect_diagnostics', attempt: 1, cancelRequested: false })
    const report = (status: string) => JSON.stringify({ attempt: handed.attempt, status, detail: 'All is well.' })
    await broker.publish(topic(`jobs/${job.id}/status`), report('inProgress'))
    await broker.publish(topic(`jobs/${job.id}/status`), report('succeeded'))
    const state = () => service.admin('GET', `/orgs/${service.organizationId}/jobs/${job.id}`)
    const ended = await until('the job has ended', async () => {
      const found = await state()
      return found.status === 'succeeded' && found
    })
    expect(ended.history.map(({ status }: { status: string }) => status)).toEqual(
      expect.arrayContaining(['queued', 'dispatched', 'inProgress', 'succeeded']),
    )
    const asked = broker.subscribe(topic('jobs'), 1)
    const second = await service.admin('POST', `/devices/${router.id}/jobs`, { kind: 'collect_diagnostics' })
    await until('the next job is offered when the device asks', async () => {
      await broker.publish(topic('jobs/next'), '')
      return Promise.race([asked.then(() => true), new Promise<false>((done) => setTimeout(done, 500, false))])
    })
    expect(JSON.parse(await asked)).toMatchObject({ id: second.id })
  })

  test('the commands of the documentation run unchanged', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/gateway.md'), 'utf8')
    const [create = '', report = ''] = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block)
    const folder = mkdtempSync(join(tmpdir(), 'gateway-page-'))
    mkdirSync(join(folder, '.data'))
    const access = { baseUrl: service.url, adminKey: service.adminKey }
    writeFileSync(join(folder, '.data/access.json'), JSON.stringify(access))
    // The clients of Mosquitto read default options from here. The page has the usual port.
    writeFileSync(join(folder, 'mosquitto_pub'), `-p ${broker.port}\n`)
    const shell = (script: string) =>
      run('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: folder,
        env: { ...process.env, XDG_CONFIG_HOME: folder },
      })
    const key = (await shell(`${create}\necho "$key"`)).stdout.trim()
    const documented = await startTestGateway(
      { url: service.url, newGatewayKey: async () => key },
      { MQTT_URL: broker.url, MQTT_CLIENT_ID: 'documented' },
    )
    try {
      await documented.untilReady()
      const findDevice = 'device=$(api "$base/devices?q=TRAM-7" | field "items[0].id")'
      const { stdout } = await shell(`${create.split('\norg=')[0]}\n${findDevice}\n${report}`)
      expect(JSON.parse(stdout)).toMatchObject({ cellular: { rsrpDbm: -97 }, system: { modemTemperatureC: 41.5 } })
    } finally {
      await documented.stop()
      rmSync(folder, { recursive: true })
    }
  })

  test('a killed broker loses and doubles nothing that was acknowledged', async () => {
    const router = await service.newRouter()
    const topic = `routerfleet/${router.serial}/telemetry`
    const startMs = Date.now() - 60_000
    await broker.publish(topic, JSON.stringify({ samples: [{ kind: 'connection', state: 'connected' }] }), ['-r'])
    await service.latest(router, 'connection')
    const before = await accepted()
    for (let round = 0; round < 3; round += 1) {
      const sent = Array.from({ length: 10 }, (_, index) => {
        const sample = { kind: 'system', ts: startMs + (round * 10 + index) * 1_000, cpuPct: index }
        return broker.publish(topic, JSON.stringify({ samples: [sample] }))
      })
      await Promise.all(sent)
      await until('the gateway has them', async () => (await accepted()) >= before + (round + 1) * 10)
      await broker.kill()
      await broker.start()
      await gateway.untilReady()
    }
    await until('all rows can be read', async () => (await times(router)).length >= 30)
    expect(await times(router)).toEqual([...new Set(await times(router))])
    // The broker has retained it, and offers it with each subscription.
    expect(await times(router, 'connection')).toHaveLength(1)
  })
})

async function times(router: { id: string }, kind = 'system'): Promise<string[]> {
  const path = `/api/router/${router.id}/telemetry/history?sinceMinutes=10&kind=${kind}&limit=1000`
  return (await service.admin('GET', path)).items.map(({ ts }: { ts: string }) => ts)
}
