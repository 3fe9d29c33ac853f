import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { installUci, type RouterUci } from '#test/openwrt-uci'
import { until } from '#test/until'

/** How the service answers a report. `lost`: it has the report, and the answer does not arrive. `cut`: it does not get it. */
type Answer = number | 'lost' | 'cut'

/** Jobs with a service that loses and refuses reports. As the real one, it delivers a job until it has a report of it. */
describe('jobs of the OpenWrt agent', () => {
  let server: Server
  let router: OpenwrtRouter
  let job: { id: string; attempt: number; kind: string; parameters?: object } | undefined
  let answers: Answer[] = []
  let reports: string[] = []
  let details: string[] = []
  /** How the service answers when the router tries to reach it with a new config. */
  let contact: number | 'cut' = 200

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.url === '/device/config')
        return contact === 'cut' ? request.socket.destroy() : response.writeHead(contact).end()
      if (request.method === 'GET') return response.writeHead(job ? 200 : 204).end(job && JSON.stringify(job))
      const text = await new Response(request as never).text()
      const answer = answers.shift() ?? 200
      if (answer === 'cut') return request.socket.destroy()
      const { status, detail, code = '' } = JSON.parse(text)
      reports.push(`${status} ${answer}`)
      if (detail) details.push(`${code}: ${detail}`)
      if (answer === 401 || answer === 402 || answer === 403) return response.writeHead(answer).end('{}')
      job = undefined
      if (answer === 'lost') return request.socket.destroy()
      response.writeHead(answer).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server?.close())

  beforeEach(({ skip }) => {
    if (openwrtMissing) return skip(openwrtMissing)
    job = { id: 'j', attempt: 1, kind: 'reboot' }
    answers = []
    reports = []
    details = []
    contact = 200
    router = newOpenwrtRouter({
      SERVICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SERIAL: 'WRT',
      REBOOT_WAIT: '0',
      ROLLBACK_SECONDS: '2',
    })
    router.command('reboot', 'echo reboot >> "$ROUTER/calls"')
  })
  afterEach(() => router?.remove())

  /** Takes a job once, or reports what the last turn left. Returns 0 if the next turn may follow at once. */
  async function turn(): Promise<number> {
    const done = join(router.folder, 'done')
    rmSync(done, { force: true })
    const script = join(router.folder, 'turn.sh')
    const sources = ['base', 'buffer', 'jobs', 'config', 'reported-config', 'firmware'].map(
      (name) => `. "$LIB_DIR/${name}.sh"`,
    )
    writeFileSync(
      script,
      [
        ...sources,
        'sleep() { command sleep 0.1; }',
        'take_job 0',
        'echo $? >"$ROUTER/done.new"',
        'mv "$ROUTER/done.new" "$ROUTER/done"',
      ].join('\n'),
    )
    router.startScript(script, [])
    await until('the turn has ended', async () => existsSync(done))
    return Number(readFileSync(done, 'utf8'))
  }

  test.each([
    ['lost', ['inProgress lost', 'succeeded 200']],
    ['cut', ['succeeded 200']],
    [503, ['inProgress 503', 'succeeded 200']],
  ] as const)('a job runs once when the first report is answered with %s', async (answer, expected) => {
    answers = [answer]
    expect(await turn()).toBe(0)
    router.boot()
    expect(await turn()).toBe(0)
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual(['reboot'])
    expect(reports).toEqual(expected)
  })

  test.each([400, 404, 409])('a job that the service refuses with %i does not run', async (status) => {
    answers = [status]
    expect([await turn(), await turn()]).toEqual([0, 0])
    expect(router.lines('calls')).toEqual([])
    expect(reports).toEqual([`inProgress ${status}`])
  })

  test.each([401, 402, 403])('after %i, a job waits until the router may report', async (status) => {
    answers = [status]
    expect(await turn()).toBe(1)
    expect(router.lines('calls')).toEqual([])
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual(['reboot'])
    expect(reports).toEqual([`inProgress ${status}`, 'inProgress 200'])
  })

  test('a job whose state cannot be stored does not run', async () => {
    router.run('mkdir "$RECORD.new"')
    expect(await turn()).toBe(0)
    expect(router.lines('calls')).toEqual([])
    expect(reports).toEqual(['failed 200'])
  })

  describe('with a profile', () => {
    const packages = {
      network: "config interface 'wan'\n\toption proto 'dhcp'\n",
      wireless: "config wifi-iface 'wlan'\n\toption ssid 'Old'\n",
    }
    let uci: RouterUci

    beforeEach(() => {
      const settings = { uci: { network: { wan: { proto: 'none' } }, wireless: { wlan: { ssid: 'New' } } } }
      job = { id: 'j', attempt: 1, kind: 'apply_config', parameters: { profile: { id: 'p', version: 1, settings } } }
      uci = installUci(router, packages)
      router.command('reload_config', 'echo reload >> "$ROUTER/calls"')
      writeFileSync(
        join(router.folder, 'bin/uci'),
        readFileSync(join(router.folder, 'bin/uci'), 'utf8').replace('COMMAND=', `${fullFlash}\nCOMMAND=`),
      )
    })

    /** The writes in the file `full` fail, and all imports while samples are saved. */
    const fullFlash = `case $1 in commit | import)
grep -qsx "$1 $2" "$ROUTER/full" && exit 1
[ "$1" != import ] || [ ! -e "$ROUTER/state/buffer/saved.gz" ] || exit 1
esac`
    const fillFlash = (...writes: string[]) => writeFileSync(join(router.folder, 'full'), `${writes.join('\n')}\n`)
    const texts = () => ({ network: uci.read('network'), wireless: uci.read('wireless') })
    const hasCopy = () => existsSync(join(router.folder, 'state/config-backup/network'))

    test('a config that cannot be written is not active, and the old one returns', async () => {
      fillFlash('commit wireless')
      expect(await turn()).toBe(1)
      expect(reports).toEqual(['inProgress 200'])
      expect(hasCopy()).toBe(true)
      fillFlash()
      expect(await turn()).toBe(0)
      expect(texts()).toEqual(packages)
      expect(reports).toEqual(['inProgress 200', 'failed 200'])
      expect(details).toEqual([': The package wireless could not be written, so the old config was restored.'])
      expect(hasCopy()).toBe(false)
    })

    test('an old config that cannot be written is tried again each turn, and reported when it is there', async () => {
      contact = 'cut'
      fillFlash('import network')
      expect([await turn(), await turn()]).toEqual([1, 1])
      expect(texts()).toEqual({ ...packages, network: packages.network.replace('dhcp', 'none') })
      expect(reports).toEqual(['inProgress 200'])
      expect(hasCopy()).toBe(true)
      fillFlash()
      expect(await turn()).toBe(0)
      expect(texts()).toEqual(packages)
      expect(details).toEqual([
        'rolled_back: The service could not be reached for 2 s, so the old config was restored.',
      ])
      expect(hasCopy()).toBe(false)
    })

    test('saved samples make room for the old config', async () => {
      contact = 'cut'
      router.run('mkdir -p "$SAVED_DIR" && echo samples >"$SAVED_DIR/saved.gz"')
      expect(await turn()).toBe(0)
      expect(texts()).toEqual(packages)
      expect(router.lines('state/buffer/saved.gz')).toEqual([])
    })

    test.each([204, 401, 404, 429, 503])('%i is contact with the service', async (status) => {
      contact = status
      expect(await turn()).toBe(0)
      expect(reports).toEqual(['inProgress 200', 'succeeded 200'])
      expect(uci.read('network')).toContain("'none'")
    })

    test.each([302, 511])('%i of a network that asks for a login is no contact', async (status) => {
      contact = status
      expect(await turn()).toBe(0)
      expect(reports).toEqual(['inProgress 200', 'failed 200'])
      expect(texts()).toEqual(packages)
    })
  })
})
