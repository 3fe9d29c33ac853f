import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canonicalJson } from '#core/canonical-json'
import { type AdapterService, startAdapterService } from '#test/adapter-service'
import { newOpenwrtRouter, type OpenwrtRouter, openwrtMissing } from '#test/openwrt-router'
import { installUci, type RouterUci } from '#test/openwrt-uci'
import { timeOutAttempt } from '#test/timed-out-job'
import { until } from '#test/until'

let service: AdapterService
let enrollmentKey: string
let link: Server
let isCut = false
let puts: { digest: string; settings?: unknown }[] = []
let router: OpenwrtRouter
let uci: RouterUci
let routers = 0

const packages = {
  wireless: "config wifi-iface 'wlan'\n\toption ssid 'Old'\n\toption key 'old'\n",
  network: "config interface 'wan'\n\toption proto 'dhcp'\n",
}
const settings = {
  uci: {
    wireless: { wlan: { ssid: 'Ferry', channel: 11, key: { $secret: 'correct horse' } } },
    network: { lan: { _type: 'interface', dns: ['1.1.1.1', '9.9.9.9'] } },
  },
}

/** The connection between the router and the service, which can be cut, and records what the router says to run. */
const startLink = () =>
  createServer(async (incoming, response) => {
    if (isCut) return incoming.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (incoming.method === 'PUT') puts.push(JSON.parse(body.toString()))
    const { authorization, 'content-type': type, 'content-encoding': encoding } = incoming.headers
    const headers = Object.entries({ authorization, 'content-type': type, 'content-encoding': encoding })
    const answer = await fetch(service.url + incoming.url, {
      method: incoming.method ?? 'GET',
      headers: headers.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : [])),
      ...(body.length > 0 ? { body } : {}),
    })
    response.writeHead(answer.status).end(await answer.text())
  })

beforeAll(async () => {
  if (openwrtMissing) return
  service = await startAdapterService()
  const path = `/orgs/${service.organizationId}/enrollment-keys`
  enrollmentKey = (await service.admin('POST', path, { name: 'Routers', autoCreate: true })).key
  link = startLink()
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve))
}, 120_000)
afterAll(async () => {
  link?.close()
  await service?.close()
})

beforeEach(({ skip }) => {
  if (openwrtMissing) return skip(openwrtMissing)
  routers += 1
  ;[isCut, puts] = [false, []]
  router = newOpenwrtRouter({
    SERVICE_URL: `http://127.0.0.1:${(link.address() as AddressInfo).port}`,
    ENROLLMENT_KEY: enrollmentKey,
    SERIAL: `UCI-${routers}`,
    MODEM: 'none',
  })
  uci = installUci(router, packages)
  router.command('reload_config', 'echo reload >> "$ROUTER/calls"')
})
afterEach(() => router?.remove())

function start(more: Record<string, string> = {}): void {
  for (const part of ['report', 'jobs'] as const) router.start(part, { ...uci.environment, ...more })
}

const device = (): Promise<{ id: string }> =>
  until('the router is registered', async () => (await service.admin('GET', `/devices?q=UCI-${routers}`)).items[0])

async function apply(id: string, of: object = settings): Promise<string> {
  const base = `/orgs/${service.organizationId}/configs`
  const profile = await service.admin('POST', base, { name: `P-${routers}-${Date.now()}`, settings: of })
  return (await service.admin('POST', `${base}/${profile.id}/apply`, { deviceIds: [id] })).jobs[0].id
}

const jobOf = (id: string) => service.admin('GET', `/orgs/${service.organizationId}/jobs/${id}`)
const ended = (id: string) =>
  until(
    'the job has ended',
    async () => {
      const job = await jobOf(id)
      return job.finishedAt !== null && job
    },
    60_000,
  )
const stateIs = (id: string, state: string) =>
  until(
    `the config is ${state}`,
    async () => {
      const config = await service.admin('GET', `/devices/${id}/config`)
      return config.state === state && config
    },
    60_000,
  )

describe('the config of the OpenWrt agent', () => {
  test('is in sync after a profile, differs after a change on the router, and is brought back by the same profile', async () => {
    start()
    const { id } = await device()
    const jobId = await apply(id)
    expect(await ended(jobId)).toMatchObject({ status: 'succeeded' })
    await stateIs(id, 'inSync')
    expect(puts.at(-1)).not.toHaveProperty('settings')

    uci.change('set wireless.wlan.ssid=Harbour', 'set wireless.wlan.key=other', 'commit wireless')
    expect(await stateIs(id, 'differs')).toMatchObject({
      differences: [{ path: '/uci/wireless/wlan/ssid', desired: 'Ferry', reported: 'Harbour' }],
    })
    const sent = {
      uci: { wireless: { wlan: { ssid: 'Harbour', channel: 11 } }, network: settings.uci.network },
    }
    const digest = `sha256:${createHash('sha256').update(canonicalJson(sent)).digest('hex')}`
    expect(puts.at(-1)).toMatchObject({ digest, settings: sent })

    const { profileId } = puts.at(-1) as unknown as { profileId: string }
    const again = `/orgs/${service.organizationId}/configs/${profileId}/apply`
    await ended((await service.admin('POST', again, { deviceIds: [id] })).jobs[0].id)
    await stateIs(id, 'inSync')
    expect(uci.read('wireless')).toContain("option ssid 'Ferry'")
    expect(JSON.stringify(puts)).not.toMatch(/correct horse|other/)
  }, 180_000)

  test('a router that was reset learns its profile from the service, and reports that it differs', async () => {
    start()
    const { id } = await device()
    await ended(await apply(id))
    await stateIs(id, 'inSync')
    await router.stop()
    router.run('rm "$STATE_DIR/profile"')
    uci.change('delete network.lan', 'commit network')
    start()
    expect(await stateIs(id, 'differs')).toMatchObject({
      differences: [
        { path: '/uci/network/lan/_type', desired: 'interface', reported: null },
        { path: '/uci/network/lan/dns', desired: ['1.1.1.1', '9.9.9.9'], reported: null },
      ],
    })
  }, 180_000)

  test('a profile that cuts the router off is rolled back, and reported when the network is there again', async () => {
    start({ ROLLBACK_SECONDS: '5' })
    const { id } = await device()
    await ended(await apply(id))
    await stateIs(id, 'inSync')
    const before = [uci.read('wireless'), uci.read('network')]
    const jobId = await apply(id, { uci: { network: { wan: { proto: 'none' } } } })
    await until('the bad profile is there', async () => uci.read('network').includes("'none'"), 30_000)
    isCut = true
    await until('the old config returns', async () => !uci.read('network').includes("'none'"), 60_000)
    expect([uci.read('wireless'), uci.read('network')]).toEqual(before)
    await timeOutAttempt(service.pool, jobId)
    const reports = puts.length
    isCut = false
    // The router takes the second attempt, and does not apply the profile again.
    expect(await ended(jobId)).toMatchObject({ status: 'failed', attempt: 2, error: { code: 'rolled_back' } })
    await stateIs(id, 'inSync')
    expect(puts.slice(reports)).toEqual([])
    expect([uci.read('wireless'), uci.read('network')]).toEqual(before)
    await service.admin('POST', `/orgs/${service.organizationId}/jobs/${jobId}/retry`)
    await until('a person tries the profile again', async () => uci.read('network').includes("'none'"), 60_000)
  }, 180_000)

  test('a router that restarts while it applies a profile has the old config, and says so', async () => {
    start()
    const { id } = await device()
    const jobId = await apply(id, { uci: { network: { wan: { proto: 'none' } } } })
    await until('the bad profile is there', async () => uci.read('network').includes("'none'"), 30_000)
    isCut = true
    await until('the router tries to reach the service', async () => router.lines('calls').includes('reload'))
    expect(router.lines('state/config-backup/network')).toContain("\toption proto 'dhcp'")
    await router.stop('SIGKILL')
    router.boot()
    start()
    await until('the old config returns', async () => uci.read('network') === packages.network, 60_000)
    isCut = false
    expect(await ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'rolled_back' } })
  }, 180_000)
})
