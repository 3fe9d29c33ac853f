import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canonicalJson } from '#core/canonical-json'
import { deviceCalls } from '#test/job-service'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

let service: WholeService

beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())

const call = (method: string, path: string, json?: unknown) =>
  deviceCalls(service.url, service.adminKey).call(method, path, json)

const digest = (value: unknown) => `sha256:${createHash('sha256').update(canonicalJson(value)).digest('hex')}`

/** An organization with a profile and a router that takes its jobs. */
async function newRouter(settings: Record<string, unknown>) {
  const organization = (await call('POST', '/orgs', { name: 'Harbour ferries', plan: 'pro' })).body.id
  const fields = { organizationId: organization, serial: 'SN-1', name: 'Ferry 1', model: 'RX400' }
  const id = (await call('POST', '/devices', fields)).body.id
  const { token } = (await call('POST', `/devices/${id}/token`, {})).body
  const profile = (await call('POST', `/orgs/${organization}/configs`, { name: 'Depot', settings })).body.id
  const router = deviceCalls(service.url, token)
  return {
    organization,
    id,
    profile,
    router,
    token,
    config: async () => (await call('GET', `/devices/${id}/config`)).body,
    listed: async (state: string) =>
      (await call('GET', `/devices?orgId=${organization}&configState=${state}`)).body.items.map(
        (device: { id: string }) => device.id,
      ),
    report: (report: unknown) => router.call('PUT', '/device/config', report),
    apply: () => call('POST', `/orgs/${organization}/configs/${profile}/apply`, { deviceIds: [id] }),
    /** Takes the job, reports how it ended, and returns its profile. */
    run: async (report: Record<string, unknown> = { status: 'succeeded' }) => {
      const job = await until('the job', async () => {
        const answer = await router.next(5)
        return answer.status === 200 && answer.body
      })
      expect((await router.report(job.id, { attempt: job.attempt, ...report })).status).toBe(200)
      return { jobId: job.id, ...job.parameters.profile }
    },
  }
}

test('a device runs what was applied, differs, and is brought back; a rule watches it', async () => {
  const canary = `canary${randomBytes(12).toString('hex')}`
  const settings = {
    wifi: { ssid: 'depot', password: canary },
    apn: canary,
    lan: { mtu: 1500, dns: ['a', canary] },
  }
  const ferry = await newRouter({
    ...settings,
    apn: { $secret: canary },
    lan: { mtu: 1500, dns: ['a', { $secret: canary }] },
  })
  const { config, listed, report, run, apply, profile, id, organization } = ferry
  expect(await config()).toMatchObject({ state: 'unknown', desired: null, reported: null, differences: [] })
  expect(await listed('unknown')).toEqual([id])

  await apply()
  expect(await config()).toMatchObject({ state: 'pending' })
  const delivered = await run()
  const plain = { wifi: { ssid: 'depot' }, lan: { mtu: 1500, dns: ['a', null] } }
  expect(delivered).toMatchObject({
    settings,
    secrets: ['/apn', '/lan/dns/1', '/wifi/password'],
    digest: digest(plain),
  })
  expect(await config()).toMatchObject({
    state: 'unknown',
    desired: { version: 1, settings: plain, digest: digest(plain) },
  })
  const same = { profileId: profile, version: 1, digest: delivered.digest }
  expect(await report(same)).toMatchObject({ status: 200, body: { state: 'inSync' } })
  expect(await config()).toMatchObject({ state: 'inSync', reported: { version: 1, settings: null }, differences: [] })

  const condition = { kind: 'config_differs', forMinutes: 0 }
  const rule = { name: 'Changed by hand', severity: 'warning', condition }
  expect((await call('POST', `/orgs/${organization}/alert-rules`, rule)).status).toBe(201)
  const changed = {
    wifi: { ssid: 'mine', password: canary },
    apn: canary,
    lan: { mtu: 1500, dns: ['a', canary] },
    pin: canary,
    new: true,
  }
  const differing = { ...same, digest: digest({ any: 1 }), settings: changed }
  expect((await report(differing)).body).toEqual({ state: 'differs' })
  expect((await report(differing)).body).toEqual({ state: 'differs' })
  expect(await config()).toMatchObject({
    state: 'differs',
    differences: [
      { path: '/new', desired: null, reported: true },
      { path: '/wifi/ssid', desired: 'depot', reported: 'mine' },
    ],
  })
  expect(await listed('differs')).toEqual([id])
  expect(await listed('inSync')).toEqual([])
  const alerts = async (state: string) => (await call('GET', `/orgs/${organization}/alerts?state=${state}`)).body.items
  const [alert] = await until('the alert', async () => ((await alerts('open')).length > 0 ? alerts('open') : undefined))
  expect(alert).toMatchObject({ kind: 'config_differs', measured: { profileName: 'Depot', version: 1 } })

  const batch = { kind: 'reboot', filter: { configState: 'differs' } }
  expect((await call('POST', `/orgs/${organization}/job-batches?dryRun=true`, batch)).body).toMatchObject({ total: 1 })

  await apply()
  expect((await config()).state).toBe('pending')
  await run()
  expect((await config()).state).toBe('pending')
  expect((await report(same)).body).toEqual({ state: 'inSync' })
  await until('the alert ended', async () => (await alerts('open')).length === 0)
  const everything = [JSON.stringify(await config()), JSON.stringify(await alerts('closed'))].join()
  const { rows } = await service.pool.query('SELECT r::text AS row FROM device_reported_config r')
  expect(everything + JSON.stringify(rows)).not.toContain(canary)
})

test('a roll-back is a failed job with a code of its own, and what was applied before stays desired', async () => {
  const { apply, run, report, config, organization, profile } = await newRouter({ a: 1 })
  await apply()
  await run()
  await call('PATCH', `/orgs/${organization}/configs/${profile}`, { settings: { a: 2 } })
  await apply()
  const { jobId, digest: unapplied } = await run({ status: 'failed', code: 'rolled_back', detail: 'No contact.' })
  expect((await call('GET', `/orgs/${organization}/jobs/${jobId}`)).body).toMatchObject({
    status: 'failed',
    error: { code: 'rolled_back', detail: 'No contact.' },
  })
  expect((await report({ profileId: profile, version: 1, digest: digest({ a: 1 }) })).body.state).toBe('inSync')
  expect((await report({ profileId: profile, version: 2, digest: unapplied })).body.state).toBe('differs')
  expect((await config()).desired).toMatchObject({ version: 1 })
})

test('a report is refused if it is not complete, too large, nested too deep, or from nobody', async () => {
  const { report, profile, router, token } = await newRouter({ a: 1 })
  const good = { profileId: profile, version: 1, digest: digest({}) }
  for (const bad of [
    {},
    { ...good, digest: 'sha256:00' },
    { ...good, version: 0 },
    { ...good, profileId: 'x' },
    { ...good, settings: [] },
    { ...good, more: 1 },
  ]) {
    expect((await report(bad)).status).toBe(400)
  }
  const deep = `{"a": ${'['.repeat(31_000)}${']'.repeat(31_000)}}`
  const nested = await fetch(`${service.url}/device/config`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: `${JSON.stringify(good).slice(0, -1)}, "settings": ${deep}}`,
  })
  expect(nested.status).toBe(400)
  expect((await report({ ...good, settings: { a: 'x'.repeat(70_000) } })).status).toBe(413)
  expect((await report({ ...good, settings: { 'a\u0000': '\ud800' } })).status).toBe(200)
  expect((await deviceCalls(service.url, 'fld_none').call('PUT', '/device/config', good)).status).toBe(401)
  const strange = await router.call('POST', '/device/jobs/x/status', {
    attempt: 1,
    status: 'failed',
    code: 'Not a code',
  })
  expect(strange.status).toBe(400)
})
