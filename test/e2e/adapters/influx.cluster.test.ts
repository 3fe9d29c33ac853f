import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { HttpError, InfluxDB, Point, setLogger } from '@influxdata/influxdb-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { type AdapterService, startAdapterService } from '#test/adapter-service'

let service: AdapterService
beforeAll(async () => {
  service = await startAdapterService()
}, 120_000)
afterAll(() => service.close())

// The client also prints the errors that it throws.
setLogger({ error() {}, warn() {} })

const path = '/adapters/influx/api/v2/write'
const write = (token: string, body: string | Uint8Array, { query = '?precision=ms', headers = {} } = {}) =>
  service.send(path + query, body, { authorization: `Token ${token}`, ...headers })

test("points of InfluxDB's own client can be read field by field", async () => {
  const router = await service.newRouter()
  const options = { batchSize: 100, maxRetries: 0, gzipThreshold: 10 }
  const ms = Date.now() - 5_000
  for (const precision of ['ns', 'us', 'ms', 's'] as const) {
    const at = Math.floor(ms / 1_000) * 1_000 + { ns: 40, us: 30, ms: 20, s: 0 }[precision]
    const api = new InfluxDB({ url: `${service.url}/adapters/influx`, token: router.token }).getWriteApi(
      'any',
      'any',
      precision,
      options,
    )
    api.writePoints([
      new Point('cellular')
        .tag('rat', 'lte')
        .tag('host', 'gateway 1')
        .stringField('operatorName', 'Net "1", É')
        .stringField('plmn', '26203')
        .floatField('rsrpDbm', -95.5)
        .intField('pci', 12)
        .timestamp(new Date(at)),
      new Point('location')
        .floatField('lat', 51.9)
        .floatField('lon', -8.47)
        .stringField('fix', '3d')
        .timestamp(new Date(at)),
      new Point('system').floatField('cpuPct', 12.5).stringField('firmware', '7.1').timestamp(new Date(at)),
      new Point('connection').stringField('state', 'connected').uintField('rxBytes', 123_456).timestamp(new Date(at)),
    ])
    await api.close()
  }
  const latest = await service.latest(router, 'cellular', 'connection', 'location', 'system')
  const ts = new Date(Math.floor(ms / 1_000) * 1_000 + 40).toISOString()
  expect(latest.cellular).toMatchObject({
    ts,
    rat: 'lte',
    operatorName: 'Net "1", É',
    plmn: '26203',
    rsrpDbm: -95.5,
    pci: 12,
  })
  expect(latest.location).toMatchObject({ ts, lat: 51.9, lon: -8.47, fix: '3d' })
  expect(latest.system).toMatchObject({ ts, cpuPct: 12.5, firmware: '7.1' })
  expect(latest.connection).toMatchObject({ ts, state: 'connected', rxBytes: 123_456 })
  const labels = ['source="influx"', 'field="cellular.host"', 'reason="unmapped"']
  expect(await service.metric('telemetry_adapter_fields_dropped_total', labels)).toBe(4)
})

test("a partial write is InfluxDB's error, and its client reads it", async () => {
  const router = await service.newRouter()
  const ms = Date.now() - 1_000
  const refused = await write(router.token, `system cpuPct=7 ${ms}\nsystem cpuPct\nsystem cpuPct=8 1`)
  expect(refused).toMatchObject({
    status: 400,
    json: {
      code: 'invalid',
      message: expect.stringMatching(/^partial write: unable to parse 'system cpuPct'.* dropped=2$/s),
    },
  })
  expect((await service.latest(router, 'system')).system).toMatchObject({ cpuPct: 7 })
  const tooOld = await write(router.token, `system cpuPct=8 ${ms}\nsystem cpuPct=8 1`)
  expect(tooOld).toMatchObject({ status: 422, json: { code: 'unprocessable entity' } })

  const url = `${service.url}/adapters/influx`
  const api = new InfluxDB({ url, token: router.token }).getWriteApi('o', 'b', 'ms', { maxRetries: 0 })
  api.writeRecord('weather degrees=5')
  const error = await api.close().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HttpError)
  expect(error).toMatchObject({ statusCode: 422, code: 'unprocessable entity' })
})

test('a large report is translated in another thread', async () => {
  const router = await service.newRouter()
  const ms = Date.now() - 60_000
  const filler = 'unknown="'.padEnd(600, 'x')
  const lines = Array.from({ length: 1_000 }, (_, index) => `system cpuPct=9,${filler}" ${ms + index}`)
  expect(
    (await write(router.token, gzipSync(lines.join('\n')), { headers: { 'content-encoding': 'gzip' } })).status,
  ).toBe(204)
  const { system } = await service.latest(router, 'system')
  expect(system).toMatchObject({ cpuPct: 9 })
})

test('names that a device invents make a bounded number of series', async () => {
  const router = await service.newRouter()
  for (let round = 0; round < 4; round += 1) {
    const fields = Array.from({ length: 150 }, (_, index) => `invented${round}x${index}=1`)
    expect((await write(router.token, `system cpuPct=1,${fields.join(',')}`)).status).toBe(204)
  }
  const dropped = 'telemetry_adapter_fields_dropped_total'
  expect((await service.seriesOf(dropped, ['source="influx"', 'reason="unmapped"'])).length).toBeLessThanOrEqual(201)
  expect(await service.metric(dropped, ['source="influx"', 'field="other"'])).toBeGreaterThanOrEqual(400)
})

test("errors have InfluxDB's form", async () => {
  const router = await service.newRouter()
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, '\n'))
  const gzip = { 'content-encoding': 'gzip' }
  for (const [status, code, answer] of [
    [401, 'unauthorized', await service.send(path, 'system cpuPct=1')],
    [401, 'unauthorized', await write(issueToken('fld').token, 'system cpuPct=1')],
    [401, 'unauthorized', await write(issueToken('flk').token, 'system cpuPct=1')],
    [400, 'invalid', await write(router.token, '')],
    [400, 'invalid', await write(router.token, 'system cpuPct=1', { query: '?precision=h' })],
    [400, 'invalid', await write(router.token, 'x', { headers: gzip })],
    [413, 'request too large', await write(router.token, bomb, { headers: gzip })],
    [413, 'request too large', await write(router.token, Buffer.alloc(1024 * 1024 + 1, '\n'))],
  ] as const) {
    expect([answer.status, answer.json], `${status} ${code}`).toEqual([status, { code, message: expect.any(String) }])
    expect(answer.headers.get('x-platform-error-code')).toBe(code)
  }
  await service.pool.query("UPDATE device SET status = 'disabled' WHERE id = $1", [router.id])
  await expect
    .poll(async () => (await write(router.token, 'system cpuPct=1')).json)
    .toMatchObject({ code: 'forbidden', message: 'The device is disabled.' })
})

test('401 for an unknown token before the body has arrived', async () => {
  const headers = { authorization: `Token ${issueToken('fld').token}`, 'content-length': 1024 * 1024 }
  const upload = request(service.url + path, { method: 'POST', headers })
  upload.on('error', () => {})
  upload.flushHeaders()
  const [response] = await once(upload, 'response')
  expect(response.statusCode).toBe(401)
  upload.destroy()
})
