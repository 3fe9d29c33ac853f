import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdapterService, payloadsMissing, readPayload, startAdapterService } from '#test/adapter-service'
import { startTestGateway, type TestGateway } from '#test/gateway'
import { until } from '#test/until'
import { freePort } from '../../../apps/stack/engines/process.ts'

let service: AdapterService
let gateway: TestGateway
let port: number
beforeAll(async () => {
  service = await startAdapterService()
  port = await freePort()
  gateway = await startTestGateway(service, { NMEA_PORT: String(port) })
  await gateway.untilReady()
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await service?.close()
})

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** The gateway may reset a connection to which the test still writes, with which `once` would reject. */
const untilClosed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => {})
    socket.once('close', () => resolve())
  })

async function sendLines(lines: readonly string[]): Promise<void> {
  const socket = await open()
  socket.end(`${lines.join('\r\n')}\r\n`)
  socket.resume()
  await once(socket, 'close')
}

/** Returns the sentence with its checksum. */
function sentence(text: string): string {
  let sum = 0
  for (const character of text) sum ^= character.charCodeAt(0)
  return `$${text}*${sum.toString(16).padStart(2, '0').toUpperCase()}`
}

const ignored = (reason: string) => gateway.metric('gateway_messages_total', ['transport="tcp"', `reason="${reason}"`])

test('a receiver names its device by IMEI, and its sentences become one position', async () => {
  const router = await service.newRouter()
  await service.admin('PUT', `/devices/${router.id}/identifiers`, { imei: ['352099001761481'] })
  const now = new Date(Math.floor(Date.now() / 1_000) * 1_000)
  const [date = '', time = ''] = now.toISOString().slice(2, 19).split('T')
  const [year, month, day] = date.split('-')
  const hhmmss = time.replaceAll(':', '')
  await sendLines([
    'IMEI:352099001761481',
    sentence(`GPGGA,${hhmmss}.00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,`),
    sentence(`GPRMC,${hhmmss}.00,A,4807.038,N,01131.000,E,010.0,084.4,${day}${month}${year},,,A`),
  ])
  const { location } = await service.latest(router, 'location')
  expect(location).toMatchObject({
    ...{ ts: now.toISOString(), lat: 48.1173, lon: 11.516666667, altitudeM: 545.4, satellites: 8 },
    ...{ hdop: 0.9, headingDeg: 84.4, source: 'gnss', usable: true },
  })
})

test('a receiver of 1 Hz gives complete rows only', async () => {
  const router = await service.newRouter()
  const socket = await open()
  socket.write(`SERIAL:${router.serial}\r\n`)
  const start = Math.floor(Date.now() / 1_000)
  for (let second = 0; second < 6; second++) {
    const [date = '', time = ''] = new Date((start + second) * 1_000).toISOString().slice(2, 19).split('T')
    const [hhmmss, ddmmyy] = [`${time.replaceAll(':', '')}.00`, date.split('-').reverse().join('')]
    // The receiver has its own clock: a second passes between its moments.
    await new Promise((resolve) => setTimeout(resolve, (start + second + 1) * 1_000 - Date.now()))
    for (const text of [
      `GNRMC,${hhmmss},A,4807.${second}38,N,01131.000,E,010.0,084.4,${ddmmyy},,,A`,
      'GNVTG,084.4,T,,M,010.0,N,018.5,K,A',
      `GNGGA,${hhmmss},4807.${second}38,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,`,
      'GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1',
    ]) {
      socket.write(`${sentence(text)}\r\n`)
      await new Promise((resolve) => setTimeout(resolve, 12))
    }
  }
  socket.destroy()
  const path = `/api/router/${router.id}/telemetry/history?kind=location`
  const rows = await until('all rows can be read', async () => {
    const { items } = await service.admin('GET', path)
    return items.length === 6 && items
  })
  for (const row of rows) expect(row).toMatchObject({ satellites: 8, hdop: 0.9, altitudeM: 545.4, headingDeg: 84.4 })
})

test('gpsd is asked to send its objects', async () => {
  const router = await service.newRouter()
  const socket = await open()
  socket.write(`SERIAL:${router.serial}\n{"class":"VERSION","release":"3.25"}\n`)
  const [asked] = await once(socket, 'data')
  expect(String(asked)).toBe('?WATCH={"enable":true,"json":true}\n')
  const time = new Date(Date.now() - 1_000).toISOString()
  socket.write(`${JSON.stringify({ class: 'TPV', mode: 3, time, lat: 50.07, lon: 14.46, eph: 9.5 })}\n`)
  const { location } = await service.latest(router, 'location')
  expect(location).toMatchObject({ ts: time, lat: 50.07, lon: 14.46, accuracyM: 9.5, fix: '3d' })
  socket.destroy()
})

test('the recorded lines of a Cradlepoint router', async ({ skip }) => {
  if (payloadsMissing !== null) return skip(payloadsMissing)
  const router = await service.newRouter()
  const lines = readPayload('cradlepoint-nmea-tcp.txt').split('\n')
  const recorded = lines.find((line) => line.includes('Verizon Wireless')) ?? ''
  const hhmmss = new Date(Date.now() - 1_000).toISOString().slice(11, 19).replaceAll(':', '')
  await sendLines([recorded.replace('+10000000000', router.serial).replace('162658', hhmmss)])
  const { location, cellular, connection } = await service.latest(router, 'location', 'cellular', 'connection')
  expect(location).toMatchObject({ lat: 43.560400667, lon: -116.6039115, speedMps: 0 })
  expect(cellular).toMatchObject({
    ...{ operatorName: 'Verizon Wireless', rat: 'lte', rsrpDbm: -107, rssiDbm: -74, rsrqDb: -16 },
  })
  expect(connection).toMatchObject({ wanIp: '100.68.169.178' })
})

test('the recorded objects of gpsd, without a fix', async ({ skip }) => {
  if (payloadsMissing !== null) return skip(payloadsMissing)
  const router = await service.newRouter()
  const [, none = ''] = readPayload('gpsd.ndjson').trim().split('\n')
  await sendLines([`SERIAL:${router.serial}`, none])
  const path = `/api/router/${router.id}/telemetry/history?kind=location`
  const row = await until('the row can be read', async () => (await service.admin('GET', path)).items[0])
  expect(row).toMatchObject({ fix: 'none', lat: null, usable: false })
})

test('other bytes between the sentences do not end a connection', async () => {
  const router = await service.newRouter()
  const time = new Date(Date.now() - 1_000).toISOString().slice(11, 19).replaceAll(':', '')
  const gga = sentence(`GPGGA,${time},4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,`)
  const noise = Array.from({ length: 60 }, (_, index) => `noise ${index}`)
  await sendLines([
    `SERIAL:${router.serial}`,
    ...noise,
    gga,
    ...noise,
    `\u0001\u0002${sentence('GPVTG,084.4,T,,M,010.0,N,018.5,K,A')}`,
  ])
  const { location } = await service.latest(router, 'location')
  expect(location).toMatchObject({ satellites: 8, headingDeg: 84.4 })
})

test('bad input is counted by name and closes the connection', async () => {
  const router = await service.newRouter()
  const [lines, nameless, long] = [await ignored('line'), await ignored('no_device'), await ignored('line_too_long')]
  await sendLines([sentence('GPGLL,4807.038,N,01131.000,E,123519,A'), `SERIAL:${router.serial}`, 'GET / HTTP/1.1'])
  await until('both are counted', async () => {
    return (await ignored('line')) === lines + 1 && (await ignored('no_device')) === nameless + 1
  })
  const endless = await open()
  endless.write(Buffer.alloc(64 * 1024, 'x'))
  await untilClosed(endless)
  expect(await ignored('line_too_long')).toBe(long + 1)
  const noisy = await open()
  noisy.write('nonsense\n'.repeat(200))
  await untilClosed(noisy)
  await until('no connection is left', async () => (await gateway.metric('gateway_tcp_connections')) === 0)
})
