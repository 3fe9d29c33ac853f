import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AdapterService, payloadsMissing, readPayload, startAdapterService } from '#test/adapter-service'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing, signifyMissing } from '#test/openwrt-router'
import { testTls } from '#test/tls'
import { until } from '#test/until'

let service: AdapterService
let enrollmentKey: string
let router: OpenwrtRouter
let serial: string
let routers = 0

beforeAll(async () => {
  if (openwrtMissing) return
  service = await startAdapterService()
  const path = `/orgs/${service.organizationId}/enrollment-keys`
  enrollmentKey = (await service.admin('POST', path, { name: 'Routers', autoCreate: true })).key
}, 120_000)
afterAll(() => service?.close())

beforeEach(({ skip }) => {
  if (openwrtMissing) return skip(openwrtMissing)
  routers += 1
  serial = `WRT-${routers}`
  router = newOpenwrtRouter({ SERVICE_URL: service.url, ENROLLMENT_KEY: enrollmentKey, SERIAL: serial })
  router.command('reboot', 'echo reboot >> "$ROUTER/calls"')
})
afterEach(() => router?.remove())

const device = () =>
  until('the device is registered', async () => (await service.admin('GET', `/devices?q=${serial}`)).items[0])

async function ended(id: string): Promise<{ status: string; result: unknown; error: { detail: string } | null }> {
  return until(
    `job ${id} has ended`,
    async () => {
      const job = await service.admin('GET', `/orgs/${service.organizationId}/jobs/${id}`)
      return job.finishedAt !== null && job
    },
    60_000,
  )
}

const newJob = (id: string, kind: string, parameters: object = {}) =>
  service.admin('POST', `/devices/${id}/jobs`, { kind, parameters })

describe('the OpenWrt agent under BusyBox', () => {
  test('enrolls and reports the recorded outputs of uqmi and gpsd', async ({ skip }) => {
    if (payloadsMissing !== null) return skip(payloadsMissing)
    const serving = {
      registration: 'registered',
      plmn_mcc: 262,
      plmn_mnc: 3,
      plmn_description: 'Net 1',
      roaming: false,
    }
    writeFileSync(join(router.folder, 'signal'), readPayload('uqmi.ndjson'))
    writeFileSync(join(router.folder, 'serving'), JSON.stringify(serving))
    writeFileSync(join(router.folder, 'gpsd'), readPayload('gpsd.ndjson').split('\n')[0] ?? '')
    router.command('uqmi', 'case "$*" in *signal*) cat "$ROUTER/signal" ;; *) cat "$ROUTER/serving" ;; esac')
    router.command('gpspipe', 'echo \'{"class":"VERSION"}\'; cat "$ROUTER/gpsd"')
    router.command(
      'ubus',
      'echo \'{"up":true,"l3_device":"wwan0","uptime":77,"ipv4-address":[{"address":"10.0.0.2"}]}\'',
    )
    router.start('report', { MODEM: 'uqmi' })
    const { id } = await device()
    const latest = await service.latest({ id }, 'cellular', 'connection', 'system')
    expect(latest).toMatchObject({
      cellular: { rat: 'lte', rssiDbm: -71, rsrqDb: -9, rsrpDbm: -94, sinrDb: 7, plmn: '26203', operatorName: 'Net 1' },
      connection: { state: 'connected', registration: 'home', interface: 'wwan0', wanIp: '10.0.0.2', uptimeS: 77 },
      system: { firmware: '23.05.2' },
    })
    const path = `/api/router/${id}/telemetry/history?kind=location`
    const fix = await until('the fix can be read', async () => (await service.admin('GET', path)).items[0])
    expect(fix).toMatchObject({ lat: 50.0740391, lon: 14.466591817, fix: '3d', accuracyM: 9.5, headingDeg: 320.5 })
  })

  describe('enrollment', () => {
    const enrollments = async (id: string): Promise<number> => {
      const { items } = await service.admin('GET', `/orgs/${service.organizationId}/audit?limit=200`)
      return items.filter(
        ({ action, subjectId }: { action: string; subjectId: string }) =>
          action === 'device.enrolled' && subjectId === id,
      ).length
    }
    const tokenOf = (of: OpenwrtRouter) => of.lines('state/token')[0] ?? ''
    const hasReported = (of: OpenwrtRouter) =>
      until('the router has reported', async () => of.lines('run/answer.report')[0]?.includes('accepted'), 60_000)

    test('of two processes that start together, one enrolls, and both work with its token', async () => {
      const crowd = Array.from({ length: 6 }, (_, index) => {
        const name = `${serial}-${index}`
        return {
          name,
          router: newOpenwrtRouter({ SERVICE_URL: service.url, ENROLLMENT_KEY: enrollmentKey, SERIAL: name }),
        }
      })
      try {
        for (const { router } of crowd) for (const part of ['report', 'jobs'] as const) router.start(part)
        for (const { name, router } of crowd) {
          await hasReported(router)
          const { id } = (await service.admin('GET', `/devices?q=${name}`)).items[0]
          expect(await ended((await newJob(id, 'speed_test')).id)).toMatchObject({ status: 'rejected' })
          expect(await enrollments(id), router.output()).toBe(1)
          expect((await service.admin('GET', `/devices/${id}/tokens`)).items).toHaveLength(1)
          expect(router.output()).not.toContain('failed')
        }
      } finally {
        await Promise.all(crowd.map(({ router }) => router.remove()))
      }
    }, 180_000)

    test('a lock that a killed process left does not stop the next one', async () => {
      const hanging = createTcpServer()
      await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve))
      try {
        const connected = once(hanging, 'connection')
        router.start('jobs', { SERVICE_URL: `http://127.0.0.1:${(hanging.address() as AddressInfo).port}` })
        await connected
        await router.stop('SIGKILL')
        router.start('report')
        await hasReported(router)
      } finally {
        hanging.close()
      }
    }, 120_000)

    test.each([
      ['is lost before it arrives', ''],
      ['is an empty file after a power cut', ': >"$STATE_DIR/token"'],
      ['is a file without text', 'echo >"$STATE_DIR/token"'],
    ])(
      'a token that %s is replaced by an enrollment with the same nonce',
      async (_, loss) => {
        const proxy = createHttpServer(async (incoming, response) => {
          const chunks: Buffer[] = []
          for await (const chunk of incoming) chunks.push(chunk)
          const headers = { 'content-type': 'application/json' }
          const answer = await fetch(service.url + incoming.url, {
            method: 'POST',
            headers,
            body: Buffer.concat(chunks),
          })
          if (loss === '') incoming.socket.destroy()
          else response.writeHead(answer.status).end(await answer.text())
        })
        await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
        const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
        router.start('jobs', { SERVICE_URL: url })
        const outcome = loss === '' ? 'enrollment failed' : 'enrolled'
        await until(outcome, async () => router.output().includes(outcome), 60_000)
        await router.stop('SIGKILL')
        proxy.close()
        const { id } = await device()
        if (loss !== '') router.run(loss)
        router.start('report')
        await hasReported(router)
        expect(tokenOf(router)).toMatch(/^fld_/)
        expect(await enrollments(id)).toBe(2)
      },
      120_000,
    )

    test('a wait that the service asks for is kept, up to a limit', () => {
      const wait = (seconds: number) =>
        Number(
          router.run(
            `printf 'Retry-After: ${seconds}\\r\\n' >"$RUN_DIR/head.next"; cd "$ROUTER"; retry_after next 300`,
          ),
        )
      expect([wait(7), wait(4_000)]).toEqual([7, 300])
      expect(router.lines('300')).toEqual([])
    })

    test('an answer without a token leaves none', async () => {
      const server = createHttpServer((_, response) => response.writeHead(201).end('{}'))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      router.start('jobs', { SERVICE_URL: url })
      await until('the router has tried', async () => router.output().includes('enrollment failed'))
      await router.stop()
      server.close()
      expect(router.lines('state/token')).toEqual([])
    })
  })

  describe('the time', () => {
    const system = (text: string) => {
      const lines = text.trim().split('\n')
      return lines.map((line) => JSON.parse(line)).find(({ kind }) => kind === 'system')
    }
    const dated = (script: string) =>
      system(
        router.run(`open_buffer; MODEM=none collect | add_samples; close_batch; ${script}
        zcat "$(oldest_batch)" | date_samples`),
      )
    const tsOf = ({ ts }: { ts: number }) => Math.abs(ts - Date.now()) < 10_000
    /** A router whose clock is wrong, as after a start without a clock. */
    const wrongClock = () => router.command('date', 'echo 1750000000')

    test('a clock that nobody has set dates nothing: samples have ages', () => {
      wrongClock()
      const sample = dated('')
      expect(sample.ageMs).toBeLessThan(60_000)
      expect(sample).not.toHaveProperty('ts')
      expect(JSON.stringify(sample)).not.toContain('1750000')
    })

    test('the header Date of a response, and then the time service, tell the time', () => {
      wrongClock()
      const head = (ms: number) =>
        `printf 'HTTP/1.1 200 OK\\r\\nDate: ${new Date(ms).toUTCString()}\\r\\n' >"$RUN_DIR/head.x"`
      expect(dated(`${head(Date.now())}; learn_clock "$(date_of_head "$RUN_DIR/head.x")" server;`)).toSatisfy(tsOf)
      for (const day of [
        '2026-11-27T02:03:04Z',
        '2028-02-29T23:59:59Z',
        '2027-01-01T00:00:00Z',
        '2026-03-01T12:00:00Z',
      ])
        expect(router.run(`${head(Date.parse(day))}; date_of_head "$RUN_DIR/head.x"`)).toBe(
          String(Date.parse(day) / 1_000),
        )
      expect(router.run('echo "Date: yesterday" >"$RUN_DIR/head.x"; date_of_head "$RUN_DIR/head.x"')).toBe('')
      router.command('date', `echo ${Math.floor(Date.now() / 1_000)}`)
      const script = 'learn_clock "$(date +%s)" service; learn_clock 1600000000 server;'
      expect(dated(script)).toSatisfy(tsOf)
    })

    test('chronyc tells that the clock is set, and another boot forgets it', () => {
      const tracking = (leap: string) => router.command('chronyc', `echo 'A,b,3,1.0,0,0,0,0,0,0,0,0,64.0,${leap}'`)
      tracking('Not synchronised')
      expect(dated('')).toHaveProperty('ageMs')
      tracking('Normal')
      expect(dated('')).toSatisfy(tsOf)
      router.boot()
      expect(router.run('clock_offset')).toBe('')
    })

    test('samples saved with a known time keep it over a restart; without one they are left out', () => {
      dated('')
      router.run('save_buffer; rm -rf "$BUFFER_DIR"')
      router.boot()
      expect(router.run('open_buffer; zcat "$(oldest_batch)" | date_samples')).toBe('')
      router.run('rm -rf "$BUFFER_DIR"')
      dated('learn_clock "$(date +%s)" service;')
      router.run('save_buffer; rm -rf "$BUFFER_DIR" "$RUN_DIR/clock"')
      router.boot()
      expect(system(router.run('open_buffer; zcat "$(oldest_batch)" | date_samples'))).toSatisfy(tsOf)
    })

    test('a router with a wrong clock is stored with the right time', async () => {
      wrongClock()
      router.start('report', { MODEM: 'none' })
      const { id } = await device()
      const { system } = await service.latest({ id }, 'system')
      expect(Math.abs(Date.parse(String(system?.ts)) - Date.now())).toBeLessThan(60_000)
    })

    test('the hotplug event of ntpd notes the time, unless ntpd is not synchronized', () => {
      const script = join(import.meta.dirname, '../../../agents/openwrt/files/etc/hotplug.d/ntp/90-routerfleet-agent')
      const text = readFileSync(script, 'utf8').replace('/usr/sbin/routerfleet-agent clock', 'echo noted')
      const event = (action: string, stratum: number) => router.run(`ACTION=${action} stratum=${stratum}\n${text}`)
      expect([event('step', 16), event('unsync', 3)]).toEqual(['', ''])
      expect([event('step', 3), event('stratum', 2), event('periodic', 2)]).toEqual(Array(3).fill('noted\n'))
    })
  })

  test('a modem that does not answer delays a report by ten seconds at most', () => {
    router.command('uqmi', 'sleep 60')
    const startMs = Date.now()
    expect(router.run('limited 1 uqmi 2>/dev/null; echo "code $?"')).toContain('code 137')
    expect(Date.now() - startMs).toBeLessThan(5_000)
  })

  test('a day offline fits into 1 MB, survives a restart, and arrives once', async () => {
    const startS = Math.floor(Date.now() / 1_000) - 86_400
    // Four samples a minute, as a router with a modem and a receiver takes them.
    const samples = (from: number) =>
      Array.from({ length: 30 }, (_, index) => {
        const minute = from + index
        const ts = (startS + minute * 60) * 1_000
        const noise = Math.round(Math.abs(Math.sin(minute) * 1e6)) / 1e6
        return [
          {
            kind: 'system',
            ts,
            uptimeS: minute * 60,
            load1: noise,
            memUsedPct: 40 + noise,
            diskUsedPct: 12,
            firmware: '23.05.2',
          },
          {
            kind: 'cellular',
            ts,
            rat: 'lte',
            rssiDbm: -60 - noise,
            rsrpDbm: -90 - noise,
            rsrqDb: -9,
            sinrDb: 9 + noise,
            plmn: '26203',
          },
          {
            kind: 'connection',
            ts,
            state: 'connected',
            rat: 'lte',
            plmn: '26203',
            rxBytes: minute * 1_000_003,
            txBytes: minute * 70_001,
          },
          {
            kind: 'location',
            ts,
            fix: '3d',
            source: 'gnss',
            lat: 50 + noise,
            lon: 14 + noise,
            altitudeM: 200 + noise,
            speedMps: noise,
          },
        ].map((sample) => JSON.stringify(sample))
      })
        .flat()
        .join('\n')
    for (let minute = 0; minute < 1_440; minute += 30) router.run('open_buffer; add_samples', `${samples(minute)}\n`)
    expect(Number(router.run('close_batch; buffer_kb'))).toBeLessThanOrEqual(1_024)
    // A restart: the memory is empty afterwards.
    router.run('save_buffer; rm -rf "$BUFFER_DIR"')
    router.command(
      'date',
      'if [ "$1" = +%s ] && [ -e "$ROUTER/no-clock" ]; then echo 5; else exec "$ROUTER/bin/busybox" date "$@"; fi',
    )
    writeFileSync(join(router.folder, 'no-clock'), '')
    router.start('report')
    const { id } = await device()
    const countOf = async (kind: string) => {
      const path = `/api/router/${id}/telemetry/history?sinceMinutes=1500&limit=10000&kind=${kind}`
      return (await service.admin('GET', path)).items.length
    }
    for (const kind of ['cellular', 'connection', 'location'])
      await until(`all of ${kind}`, async () => (await countOf(kind)) === 1_440, 60_000)
    expect(router.run('oldest_batch')).toBe('')
  }, 180_000)

  test('the init script passes the options of uci on, and a stop saves samples while a report hangs', async () => {
    const hanging = createTcpServer()
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
    try {
      const connected = once(hanging, 'connection')
      const instances = router.init('start_service', { enabled: '1', url, serial, modem: 'none', interval: '5' })
      expect(instances.map(({ command }) => command.at(-1))).toEqual(['report', 'jobs'])
      const [{ env = {} } = {}] = instances
      expect(env).toMatchObject({
        SERVICE_URL: url,
        SERIAL: serial,
        MODEM: 'none',
        INTERVAL: '5',
        ROLLBACK_SECONDS: '600',
      })
      router.run('echo fld_test | write_file "$STATE_DIR/token"')
      router.start('report', { SERVICE_URL: url, INTERVAL: '5' })
      await connected
      router.init('stop_service')
      await router.stop('SIGKILL')
      expect(router.run('zcat "$SAVED_DIR"/*.gz')).toContain('"kind":"system"')
      expect(router.init('start_service', { enabled: '0' })).toEqual([])
    } finally {
      hanging.close()
    }
  })

  test('above its limit, the buffer discards the oldest samples', () => {
    const lines = Array.from(
      { length: 400 },
      () => `{"kind":"system","fault":"${randomBytes(75).toString('hex')}"}`,
    ).join('\n')
    for (let round = 0; round < 6; round += 1)
      router.run('open_buffer; BUFFER_KB=60 BATCH_LINES=100; add_samples', `${lines}\n`)
    expect(Number(router.run('buffer_kb'))).toBeLessThanOrEqual(61)
    expect(router.run('basename "$(oldest_batch)"')).not.toContain('-000001')
  })

  test('a reboot job ends when the router has restarted', async () => {
    router.start('jobs')
    const { id } = await device()
    const job = await newJob(id, 'reboot')
    await until('the router restarts', async () => router.lines('calls').includes('reboot'), 60_000)
    await router.stop('SIGKILL')
    router.boot()
    router.start('jobs')
    expect(await ended(job.id)).toMatchObject({ status: 'succeeded' })
    expect(router.lines('calls')).toEqual(['reboot'])
    const unknown = await newJob(id, 'speed_test')
    expect(await ended(unknown.id)).toMatchObject({ status: 'rejected' })
  }, 120_000)

  describe('config', () => {
    beforeEach(() => {
      router.command(
        'uci',
        `[ "$1" = -q ] && shift
case $1 in
export) [ "$2" = missing ] && exit 1; echo "package $2" ;;
import) cat > "$ROUTER/imported-$2" ;;
esac
echo "$*" >> "$ROUTER/calls"`,
      )
      router.command(
        'reload_config',
        'echo reload >> "$ROUTER/calls"; [ ! -e "$ROUTER/broken" ] || touch "$ROUTER/cut"',
      )
    })

    async function apply(settings: object): Promise<string> {
      const { id } = await device()
      const base = `/orgs/${service.organizationId}/configs`
      const profile = await service.admin('POST', base, { name: `P-${serial}-${Date.now()}`, settings })
      const batch = await service.admin('POST', `${base}/${profile.id}/apply`, { deviceIds: [id] })
      return batch.jobs[0].id
    }

    test('a profile is written with uci and confirmed when the service still answers', async () => {
      router.start('jobs')
      const uci = {
        wireless: {
          wlan: { _type: 'wifi-iface', ssid: 'Ferry  1', key: { $secret: 'correct horse' } },
          lan: { dns: ['1.1.1.1', '9.9.9.9'] },
        },
      }
      expect(await ended(await apply({ uci }))).toMatchObject({ status: 'succeeded' })
      expect(router.lines('calls')).toEqual(
        expect.arrayContaining([
          'set wireless.wlan=wifi-iface',
          'set wireless.wlan.ssid=Ferry  1',
          'set wireless.wlan.key=correct horse',
          'delete wireless.lan.dns',
          'add_list wireless.lan.dns=1.1.1.1',
          'add_list wireless.lan.dns=9.9.9.9',
          'commit wireless',
          'reload',
        ]),
      )
    }, 120_000)

    test('without a connection afterwards, the old config returns', async () => {
      const curl = execFileSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).trim()
      router.command('curl', `case "$*" in *device/config*) [ -e "$ROUTER/cut" ] && exit 7 ;; esac\nexec ${curl} "$@"`)
      writeFileSync(join(router.folder, 'broken'), '')
      router.start('jobs', { ROLLBACK_SECONDS: '6' })
      const id = await apply({ uci: { network: { wan: { proto: 'none' } } } })
      const job = await ended(id)
      expect(job).toMatchObject({
        status: 'failed',
        error: { code: 'rolled_back', detail: expect.stringContaining('restored') },
      })
      expect(router.lines('imported-network')).toEqual(['package network'])
    }, 180_000)

    test('an empty profile and one without a version are rejected', () => {
      const run = (lines: string[]) =>
        router.run('finish() { echo "$1: $2"; }; run_config "$(cat)"', `${lines.join('\n')}\n`)
      const ssid = 'parameters.profile.settings.uci.wireless.wlan.ssid\tFerry'
      const version = 'parameters.profile.version\t'
      for (const lines of [[ssid], [`${version}null`, ssid], [`${version}0`, ssid], [`${version}1`], []])
        expect(run(lines)).toContain('rejected: ')
      expect(router.lines('calls')).toEqual([])
    })

    test('settings without uci, and the config of the agent itself, are rejected', async () => {
      router.start('jobs')
      expect(await ended(await apply({ wifi: { ssid: 'x' } }))).toMatchObject({ status: 'rejected' })
      expect(await ended(await apply({ uci: { routerfleet: { agent: { url: 'x' } } } }))).toMatchObject({
        status: 'rejected',
      })
      expect(router.lines('calls').filter((call) => call.startsWith('set'))).toEqual([])
    }, 120_000)
  })

  describe('firmware', () => {
    const image = Buffer.from('FIRMWARE 24.10.0 '.repeat(1_000))
    const sha256 = createHash('sha256').update(image).digest('hex')
    const files = new Map<string, Buffer>()
    let server: Server
    let address: string

    beforeAll(async () => {
      server = createServer(testTls, (request, response) => {
        const file = files.get(request.url ?? '')
        response.writeHead(file ? 200 : 404).end(file)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      // The service refuses private addresses. The router resolves this name to the server.
      address = `receiver.test:${(server.address() as AddressInfo).port}`
    })
    afterAll(() => server.close())

    const startJobs = () =>
      router.start('jobs', { CURL_CA_BUNDLE: join(router.folder, 'ca.pem'), CURL_HOME: router.folder })

    beforeEach(({ skip }) => {
      if (signifyMissing !== null) return skip(signifyMissing)
      writeFileSync(join(router.folder, 'ca.pem'), testTls.cert)
      writeFileSync(join(router.folder, '.curlrc'), `resolve = "${address}:127.0.0.1"\n`)
      const [keys, secret] = [join(router.folder, 'keys'), join(router.folder, 'release.sec')]
      mkdirSync(keys)
      execFileSync('signify-openbsd', ['-G', '-n', '-p', join(keys, 'release.pub'), '-s', secret])
      const path = join(router.folder, 'image')
      writeFileSync(path, image)
      execFileSync('signify-openbsd', ['-S', '-s', secret, '-m', path, '-x', `${path}.sig`])
      files.set('/good.bin', image)
      files.set('/good.bin.sig', readFileSync(`${path}.sig`))
      files.set('/unsigned.bin', image)
      files.set('/forged.bin', Buffer.from('FIRMWARE of somebody else'))
      files.set('/forged.bin.sig', readFileSync(`${path}.sig`))
      const signify = execFileSync('sh', ['-c', 'command -v signify-openbsd'], { encoding: 'utf8' }).trim()
      // usign has the format of signify, and takes a folder of keys.
      router.command(
        'usign',
        `for key in "$8"/*; do ${signify} -V -q -p "$key" -m "$4" -x "$6" && exit 0; done; exit 1`,
      )
      router.command(
        'sysupgrade',
        `echo "sysupgrade $*" >> "$ROUTER/calls"
[ "$1" = -T ] && exec grep -q '^FIRMWARE' "$2"
echo "DISTRIB_RELEASE='24.10.0'" > "$ROUTER/release"`,
      )
    })

    const update = async (id: string, name: string, more: object = {}) =>
      newJob(id, 'firmware_update', { version: '24.10.0', url: `https://${address}/${name}`, sha256, ...more })

    test('signed firmware is installed, and the job ends when the new version runs', async () => {
      startJobs()
      const { id } = await device()
      const job = await update(id, 'good.bin', { sizeBytes: image.length })
      await until('sysupgrade runs', async () => router.lines('calls').length === 2, 60_000)
      await router.stop('SIGKILL')
      router.boot()
      startJobs()
      expect(await ended(job.id)).toMatchObject({ status: 'succeeded' })
      expect(router.lines('release')).toEqual(["DISTRIB_RELEASE='24.10.0'"])
    }, 120_000)

    test('without a signature, or with a wrong checksum or signature, nothing is installed', async () => {
      startJobs()
      const { id } = await device()
      const forged = createHash('sha256').update('FIRMWARE of somebody else').digest('hex')
      for (const [name, more, detail] of [
        ['unsigned.bin', {}, 'no valid signature'],
        ['forged.bin', { sha256: forged }, 'no valid signature'],
        ['good.bin', { sha256: '0'.repeat(64) }, 'checksum'],
        ['good.bin', { sizeBytes: 5 }, 'size'],
        ['missing.bin', {}, 'could not be downloaded'],
      ] as const) {
        const job = await ended((await update(id, name, more)).id)
        expect(job, name).toMatchObject({ status: 'failed' })
        expect(JSON.stringify(job.error), name).toContain(detail)
      }
      expect(router.lines('calls').filter((call) => !call.startsWith('sysupgrade -T'))).toEqual([])
    }, 180_000)
  })
})
