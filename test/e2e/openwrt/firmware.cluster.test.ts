import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { testTls } from '#test/tls'
import { until } from '#test/until'

const image = Buffer.from('FIRMWARE 24.10.0 '.repeat(100))
const sha256 = createHash('sha256').update(image).digest('hex')

type Status = { status: string; detail?: string }

/** The download and the checks of firmware, with a server that is both the service and the source of the firmware. */
describe('firmware of the OpenWrt agent', () => {
  let server: Server
  let router: OpenwrtRouter
  let asked: string[] = []
  let statuses: Status[] = []
  let refusal: number | undefined

  beforeAll(async () => {
    server = createServer(testTls, async (request, response) => {
      if (request.method === 'POST') {
        statuses.push(JSON.parse(await new Response(request as never).text()))
        return response.writeHead(refusal ?? 200).end('{}')
      }
      asked.push(request.url ?? '')
      // No length is announced. `/endless` ends when the router does not read it any more.
      response.writeHead(200)
      if (request.url !== '/endless') return response.end(image)
      const sending = setInterval(() => response.write(Buffer.alloc(4_096)), 1)
      response.on('close', () => clearInterval(sending))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server?.close())

  beforeEach(({ skip }) => {
    if (openwrtMissing) return skip(openwrtMissing)
    asked = []
    statuses = []
    refusal = undefined
    router = newOpenwrtRouter({
      SERVICE_URL: address(),
      CURL_CA_BUNDLE: 'ca.pem',
      SERIAL: 'WRT',
      REBOOT_WAIT: '0',
    })
    router.command('usign', 'exit 0')
    router.command('sysupgrade', 'echo "$*" >> "$ROUTER/calls"')
  })
  afterEach(() => openwrtMissing === null && router.remove())

  const address = () => `https://localhost:${(server.address() as AddressInfo).port}`

  /** Runs an update with these parameters. Returns the last status that the router reports. */
  async function update(path: string, parameters: object = {}): Promise<Status> {
    const all = { version: '24.10.0', url: `${address()}${path}`, sha256, ...parameters }
    writeFileSync(join(router.folder, 'job.json'), JSON.stringify({ id: 'j', parameters: all }))
    writeFileSync(join(router.folder, 'ca.pem'), testTls.cert)
    const script = join(router.folder, 'update.sh')
    const sources = ['base', 'buffer', 'jobs', 'config', 'reported-config', 'firmware'].map(
      (name) => `. "$LIB_DIR/${name}.sh"`,
    )
    const work = 'JOB_ID=j JOB_ATTEMPT=1; run_firmware "$(flatten <"$ROUTER/job.json")"; : >"$ROUTER/done"'
    writeFileSync(script, ['cd "$ROUTER"', ...sources, work].join('\n'))
    router.startScript(script, [])
    await until('the update has ended', async () => existsSync(join(router.folder, 'done')))
    return statuses.at(-1) ?? { status: 'none' }
  }
  const leaveMemory = () => writeFileSync(join(router.folder, 'proc/meminfo'), 'MemAvailable: 5096 kB\n')
  const installed = () => router.lines('calls').filter((call) => !call.startsWith('-T'))

  test('firmware of a job that has ended at the service meanwhile is not installed', async () => {
    refusal = 409
    expect(await update('/fw.bin')).toMatchObject({ status: 'inProgress' })
    expect(statuses).toHaveLength(1)
    expect(router.lines('calls')).toEqual([])
    expect(existsSync(join(router.folder, 'run/firmware.bin'))).toBe(false)
  })

  test.each(['/fw-{a,b}.bin', '/fw-[1-3].bin', '/fw.bin?tags[0]={x,y}'])('%s is one address', async (path) => {
    await update(path)
    expect(asked).toEqual([path, `${path}.sig`])
    expect(installed()).toHaveLength(1)
  })

  test.each([
    ['announced', { sizeBytes: 1_000 }, 'larger than 1000 bytes'],
    ['that fits into memory', {}, 'larger than 1024000 bytes'],
  ])('no more than the size %s is downloaded', async (_, parameters, detail) => {
    leaveMemory()
    const ended = await update('/endless', parameters)
    expect(ended).toMatchObject({ status: 'failed', detail: expect.stringContaining(detail) })
    expect(installed()).toEqual([])
  })

  test('firmware that does not fit into memory is not downloaded', async () => {
    leaveMemory()
    expect(await update('/fw.bin', { sizeBytes: 5_000_000 })).toMatchObject({
      status: 'failed',
      detail: 'The firmware has 5000000 bytes, and the memory has room for 1024000.',
    })
    expect(asked).toEqual([])
  })

  test.each(['1.5', '1e3', '-1700', '12345678901'])('a size of %s is refused', async (size) => {
    expect(await update('/fw.bin', { sizeBytes: size })).toMatchObject({
      status: 'failed',
      detail: `sizeBytes must be a number of bytes, got ${size}.`,
    })
    expect(asked).toEqual([])
  })

  test.each([[null], [image.length]])('firmware with the size %s is installed', async (sizeBytes) => {
    await update('/fw.bin', { sizeBytes })
    expect(installed()).toHaveLength(1)
  })

  test('firmware is smaller than its size', async () => {
    expect(await update('/fw.bin', { sizeBytes: image.length + 1 })).toMatchObject({
      status: 'failed',
      detail: 'The firmware has another size.',
    })
  })
})
