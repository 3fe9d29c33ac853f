import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canonicalJson } from '#core/canonical-json'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { installUci, type RouterUci } from '#test/openwrt-uci'
import { until } from '#test/until'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const digestOf = (value: Json) => `sha256:${createHash('sha256').update(canonicalJson(value)).digest('hex')}`

/** Settings with a text for each type, and secrets in an object and in a list. */
const settings = {
  uci: {
    wireless: {
      wlan: {
        _type: 'wifi-iface',
        ssid: "Ferry's  1",
        key: 'correct horse',
        hidden: true,
        channel: 11,
        wps: null,
        never: null,
        note: '',
        macs: [],
      },
    },
    network: { lan: { dns: ['1.1.1.1', '9.9.9.9'], keys: ['public', 'hush'] } },
  },
}
const publicSettings = {
  uci: {
    wireless: {
      wlan: {
        _type: 'wifi-iface',
        ssid: "Ferry's  1",
        hidden: true,
        channel: 11,
        wps: null,
        never: null,
        note: '',
        macs: [],
      },
    },
    network: { lan: { dns: ['1.1.1.1', '9.9.9.9'], keys: ['public', null] } },
  },
}
const profile = {
  id: '0198d0a0-0000-7000-8000-000000000001',
  version: 3,
  settings,
  secrets: ['/uci/wireless/wlan/key', '/uci/network/lan/keys/1'],
  digest: digestOf(publicSettings),
}
const packages = {
  wireless: "config wifi-iface 'wlan'\n\toption ssid 'Old'\n\toption wps '1'\n\toption note 'x'\n\tlist macs 'aa'\n",
  network: "config interface 'lan'\n\tlist dns '8.8.8.8'\n",
}

/** The agent with a service of the test, which can also be an earlier one. */
describe('the config that the OpenWrt agent reports', () => {
  let server: Server
  let router: OpenwrtRouter
  let uci: RouterUci
  let job: object | undefined
  let putStatuses: number[] = []
  let knowsCode = true
  let polls = 0
  const statuses: Record<string, unknown>[] = []
  const puts: { profileId: string; version: number; digest: string; settings?: Json }[] = []

  beforeEach(async ({ skip }) => {
    if (openwrtMissing) return skip(openwrtMissing)
    ;[job, putStatuses, knowsCode, statuses.length, puts.length] = [undefined, [], true, 0, 0]
    server = createServer(async (request, response) => {
      const answer = (status: number, body?: unknown) => response.writeHead(status).end(JSON.stringify(body))
      const body = await new Response(request as never).text()
      if (request.url?.startsWith('/device/jobs/next')) {
        polls += 1
        if (job) answer(200, job)
        else setTimeout(() => answer(204), 200)
        job = undefined
      } else if (request.url?.endsWith('/status')) {
        const status = JSON.parse(body)
        statuses.push(status)
        answer(!knowsCode && 'code' in status ? 400 : 200, {})
      } else if (request.method === 'PUT') {
        puts.push(JSON.parse(body))
        answer(putStatuses.shift() ?? 200, { state: 'inSync' })
      } else if (request.url === '/telemetry') answer(202, {})
      else answer(204)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    router = newOpenwrtRouter({
      SERVICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SERIAL: 'WRT',
      MODEM: 'none',
    })
    uci = installUci(router, packages)
    router.command('reload_config', 'echo reload >> "$ROUTER/calls"')
    router.run('echo fld_test | write_file "$STATE_DIR/token"')
  })
  afterEach(async () => {
    await router?.remove()
    server?.close()
  })

  const start = (part: 'jobs' | 'report', more: Record<string, string> = {}) =>
    router.start(part, { ...uci.environment, LONG_POLL_SECONDS: '1', ...more })
  const newJob = (of: object = profile) => ({
    id: 'j1',
    attempt: 1,
    kind: 'apply_config',
    parameters: { profile: of },
    cancelRequested: false,
  })
  const lastStatus = (status: string) =>
    until(`the job has ${status}`, async () => statuses.find((one) => one.status === status), 60_000)
  const reported = (count: number) => until(`${count} reports`, async () => puts.length >= count && puts.at(-1), 60_000)

  test('after a job, and after a start, it is that of the profile', async () => {
    job = newJob()
    start('jobs')
    expect(await reported(1)).toEqual({ profileId: profile.id, version: 3, digest: profile.digest })
    expect(statuses.at(-1)).toMatchObject({ status: 'succeeded' })
    expect(uci.read('wireless')).toContain("option ssid 'Ferry'\\''s  1'")
    expect(uci.read('wireless')).not.toMatch(/wps|macs|note/)
    expect(statSync(join(router.folder, 'state/profile')).mode & 0o777).toBe(0o600)
    expect(router.lines('state/profile').join()).not.toMatch(/correct horse|hush/)
    await until('the router has noted it', async () => router.lines('run/config-sent').length === 2)
    start('report')
    expect(await reported(2)).toEqual(puts[0])
  }, 120_000)

  test('a change on the router is reported with the settings as they are, and its end too', async () => {
    job = newJob()
    start('jobs')
    start('report')
    await reported(1)
    uci.change('set wireless.wlan.ssid=\'Other "net"\'', 'set wireless.wlan.wps=1', 'commit wireless')
    const changed = await until('the change is reported', async () => puts.find((put) => put.settings), 30_000)
    const asTheyAre = {
      uci: {
        wireless: { wlan: { ...publicSettings.uci.wireless.wlan, ssid: 'Other "net"', wps: '1' } },
        network: publicSettings.uci.network,
      },
    }
    expect(changed).toEqual({ profileId: profile.id, version: 3, digest: digestOf(asTheyAre), settings: asTheyAre })
    uci.change('delete network.lan', 'commit network')
    const { wireless } = asTheyAre.uci
    const left = { uci: { wireless, network: { lan: { keys: ['public', null] } } } }
    const gone = await until(
      'the section is missing',
      async () => puts.find((put) => put.digest === digestOf(left)),
      30_000,
    )
    expect(gone.settings).toEqual(left)
    uci.change(
      'set network.lan=interface',
      'add_list network.lan.dns=1.1.1.1',
      'add_list network.lan.dns=9.9.9.9',
      'set wireless.wlan.ssid="Ferry\'s  1"',
      'delete wireless.wlan.wps',
      'commit wireless',
      'commit network',
    )
    await until('the router runs the profile again', async () => puts.at(-1)?.digest === profile.digest, 30_000)
    expect(JSON.stringify(puts)).not.toMatch(/correct horse|hush/)
    expect(uci.reads()).toContain('wireless.wlan.ssid')
    expect(uci.reads().filter((name) => /\.keys?$/.test(name))).toEqual([])
  }, 180_000)

  test('without an answer it is sent again, and only the newest', async () => {
    putStatuses = [503, 503, 429]
    job = newJob()
    start('jobs')
    await reported(1)
    uci.change('set wireless.wlan.channel=6', 'commit wireless')
    start('report')
    await until('it is accepted', async () => puts.length === 4, 60_000)
    expect(puts[0]?.digest).toBe(profile.digest)
    expect(puts[3]).toEqual(puts[1])
    expect(puts[3]?.settings).toMatchObject({ uci: { wireless: { wlan: { channel: '6' } } } })
  }, 120_000)

  test('a service that knows no reports is asked once a start', async () => {
    putStatuses = [404, 404]
    job = newJob()
    start('jobs')
    await reported(1)
    uci.change('set wireless.wlan.channel=6', 'commit wireless')
    job = { id: 'j2', attempt: 1, kind: 'speed_test', parameters: {}, cancelRequested: false }
    await lastStatus('rejected')
    const asked = polls
    await until('the router waits for the next job', async () => polls > asked)
    expect(puts).toHaveLength(1)
    await router.stop()
    start('report')
    await reported(2)
  }, 120_000)

  test.each([
    ['secrets', { ...profile, secrets: undefined }],
    ['a digest', { ...profile, digest: undefined }],
  ])(
    'nothing is reported for a profile without %s',
    async (_, older) => {
      job = newJob(older)
      start('jobs')
      await lastStatus('succeeded')
      const asked = polls
      await until('the router waits for the next job', async () => polls > asked)
      expect(puts).toEqual([])
    },
    60_000,
  )

  describe('after a roll-back', () => {
    const oldPackages = () => expect([uci.read('wireless'), uci.read('network')]).toEqual(Object.values(packages))
    const cutOff = () =>
      router.command('curl', 'case "$*" in *device/config*) exit 7 ;; esac\nexec "$ROUTER/curl" "$@"')

    test('an earlier service receives the failure without its code', async () => {
      knowsCode = false
      router.run('cp -P "$ROUTER/bin/curl" "$ROUTER/curl"')
      cutOff()
      job = newJob()
      start('jobs', { ROLLBACK_SECONDS: '3' })
      await until(
        'the result is accepted',
        async () => statuses.filter(({ status }) => status === 'failed').length === 2,
        60_000,
      )
      expect(statuses.slice(-2)).toMatchObject([
        { code: 'rolled_back' },
        { detail: expect.stringContaining('for 3 s') },
      ])
      expect(statuses.at(-1)).not.toHaveProperty('code')
      oldPackages()
      expect(router.lines('state/profile')).toEqual([])
    }, 120_000)

    test('of a router that restarts while it applies, the failure has the code', async () => {
      router.run('cp -P "$ROUTER/bin/curl" "$ROUTER/curl"')
      cutOff()
      job = newJob()
      start('jobs')
      await until('the config is tried out', async () => router.lines('calls').includes('reload'), 60_000)
      expect(uci.read('wireless')).toContain('Ferry')
      await router.stop('SIGKILL')
      router.boot()
      start('jobs')
      expect(await lastStatus('failed')).toMatchObject({ code: 'rolled_back' })
      oldPackages()
    }, 120_000)
  })

  test('canonical JSON is that of RFC 8785', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 6 })
    const noNul = (text: string) => !text.includes('\0')
    const anyText = fc.string({ unit: 'binary', maxLength: 8 }).filter(noNul)
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        anyText,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(fc.oneof(name, anyText).filter(noNul), tie('value'), { maxKeys: 8 }),
      ),
    }))
    const documents = fc.sample(value, { numRuns: 300, seed: 8785 }) as Json[]
    const script = 'awk -f "$LIB_DIR/canonical.awk"'
    expect(router.run(script, `${JSON.stringify(documents)}\n`)).toBe(`${canonicalJson(documents)}\n`)
    // As another program may write them.
    const spread = JSON.stringify(documents, null, 2)
      .replaceAll('/', '\\/')
      .replaceAll(/[^\0-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
    expect(router.run(script, `${spread}\n`)).toBe(`${canonicalJson(documents)}\n`)
  })
})
