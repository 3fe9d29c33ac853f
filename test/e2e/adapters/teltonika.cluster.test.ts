import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { type AdapterService, payloadsMissing, readPayload, startAdapterService } from '#test/adapter-service'

let service: AdapterService
beforeAll(async () => {
  service = await startAdapterService()
}, 120_000)
afterAll(() => service.close())

const path = '/adapters/teltonika'
const send = (token: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  service.send(path, body, { authorization: `Bearer ${token}`, ...headers })

test('the recorded status of a modem can be read field by field', async ({ skip }) => {
  if (payloadsMissing !== null) return skip(payloadsMissing)
  const router = await service.newRouter()
  const answer = await send(router.token, readPayload('teltonika-rutos-status_full.json'))
  expect(answer).toMatchObject({ status: 200, json: { accepted: 3, rejected: [] } })
  const { cellular, connection, system } = await service.latest(router, 'cellular', 'connection', 'system')
  expect(cellular).toMatchObject({
    rat: 'lte',
    plmn: '22201',
    operatorName: 'TIM',
    band: 'LTE B3',
    arfcn: 1350,
    pci: 17,
    cellId: '76957227',
    tac: '4025',
    rssiDbm: -62,
    rsrpDbm: -102,
    rsrqDb: -12,
    sinrDb: 0,
  })
  expect(connection).toMatchObject({
    state: 'connected',
    registration: 'home',
    rat: 'lte',
    plmn: '22201',
    operatorName: 'TIM',
    simSlot: 1,
    iccid: '8939000000000000000',
    imsi: '222010000000000',
    rxBytes: 156_511_412_785,
    txBytes: 12_332_234_942,
  })
  expect(system).toMatchObject({ modemTemperatureC: 43 })
  const dropped = (field: string) =>
    service.metric('telemetry_adapter_fields_dropped_total', ['source="teltonika"', `field="${field}"`])
  expect([await dropped('imei'), await dropped('rscp'), await dropped('rsrp')]).toEqual([1, 0, 0])
})

test('a position keeps its time', async () => {
  const router = await service.newRouter()
  const seconds = Math.floor(Date.now() / 1_000) - 3_600
  const gps = { latitude: 54.68, longitude: 25.28, speed: 36, fix_status: 3, timestamp: seconds }
  expect((await send(router.token, JSON.stringify({ gps }))).status).toBe(200)
  const { location } = await service.latest(router, 'location')
  const ts = new Date(seconds * 1_000).toISOString()
  expect(location).toMatchObject({ ts, fixTs: ts, lat: 54.68, lon: 25.28, speedMps: 10, fix: '3d' })
})

test('errors are problem documents', async () => {
  const router = await service.newRouter()
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  for (const [status, code, answer] of [
    [401, 'unauthenticated', await service.send(path, '{}')],
    [401, 'unauthenticated', await send(issueToken('fld').token, '{}')],
    [400, 'invalid_json', await send(router.token, '{')],
    [400, 'invalid_json', await send(router.token, '['.repeat(1024 * 1024))],
    [400, 'invalid_request', await send(router.token, '5')],
    [413, 'body_too_large', await send(router.token, bomb, { 'content-encoding': 'gzip' })],
  ] as const) {
    expect([answer.status, answer.json.code], code).toEqual([status, code])
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.json).toMatchObject({ status, requestId: answer.headers.get('x-request-id') })
  }
})
