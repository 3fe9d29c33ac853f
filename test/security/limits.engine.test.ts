import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '#fleet/access/scopes'
import { type LimitName, limitNamed, limitNames } from '#fleet/organizations/limit-table'
import { type Answer, startControlPlane, type TestControlPlane } from '#test/control-plane'
import { allLimits, plansFileWith } from '#test/limited-plans'
import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { entries } from './matrix-entries.ts'
import { createWorld, type World } from './world.ts'

/** The limit of each POST that adds something to what an organization stores. */
const limitOf: Record<string, LimitName> = {
  'POST /orgs/{orgId}/api-keys': 'apiKeys',
  'POST /orgs/{orgId}/api-keys/{id}/rotate': 'apiKeys',
  'POST /orgs/{orgId}/enrollment-keys': 'enrollmentKeys',
  'POST /devices/{id}/token': 'deviceTokens',
  'POST /devices/{id}/jobs': 'openDeviceJobs',
  'POST /orgs/{orgId}/job-batches': 'openBatches',
  'POST /orgs/{orgId}/groups/{id}/jobs': 'openBatches',
  'POST /orgs/{orgId}/configs/{profileId}/apply': 'openBatches',
  'POST /orgs/{orgId}/groups': 'groups',
  'POST /orgs/{orgId}/groups/{id}/members': 'groupMembers',
  'POST /orgs/{orgId}/places': 'places',
  'POST /orgs/{orgId}/invitations': 'people',
  'POST /orgs/{orgId}/configs': 'profiles',
  'POST /orgs/{orgId}/firmware': 'firmwareImages',
  'POST /orgs/{orgId}/alert-rules': 'alertRules',
  'POST /orgs/{orgId}/webhooks': 'webhooks',
  'POST /orgs/{orgId}/chat-channels': 'chatChannels',
  'POST /orgs/{orgId}/views': 'savedViews',
}

const quota = 'The quota of devices limits it (403 `device_quota_exceeded`).'
const changes = 'It changes an object and adds none.'

/** Every other POST of an organization, and why it has no limit. */
const withoutLimit: Record<string, string> = {
  'POST /devices': quota,
  'POST /devices/import': quota,
  'POST /devices/{id}/transfer': quota,
  'POST /orgs/{orgId}/device-tags': 'A device has at most 50 tags.',
  'POST /orgs/{orgId}/device-status': changes,
  'POST /orgs/{orgId}/device-transfers': quota,
  'POST /orgs/{orgId}/device-deletions': 'It deletes objects and adds none.',
  'POST /orgs/{orgId}/configs/{id}/roll-back': 'The oldest versions beyond `profileVersions` are deleted.',
  'POST /orgs/{orgId}/jobs/{id}/cancel': changes,
  'POST /orgs/{orgId}/jobs/{id}/retry': changes,
  'POST /orgs/{orgId}/job-batches/{id}/cancel': changes,
  'POST /orgs/{orgId}/job-batches/{id}/pause': changes,
  'POST /orgs/{orgId}/job-batches/{id}/resume': changes,
  'POST /orgs/{orgId}/job-batches/{id}/retry': changes,
  'POST /orgs/{orgId}/alerts/{id}/acknowledge': changes,
  'POST /orgs/{orgId}/alerts/{id}/close': changes,
  'POST /orgs/{orgId}/alert-acknowledgements': changes,
  'POST /orgs/{orgId}/alert-closures': changes,
  'POST /orgs/{orgId}/alert-address-confirmations': 'Rules add addresses, at most `waitingAddresses`.',
  'POST /orgs/{orgId}/alert-address-tests': changes,
  'POST /orgs/{orgId}/chat-channels/{id}/test': 'Messages are deleted after some days.',
  'POST /orgs/{orgId}/webhooks/{id}/rotate-secret': changes,
  'POST /orgs/{orgId}/webhooks/{id}/test': 'Deliveries are deleted after some days.',
  'POST /orgs/{orgId}/webhooks/{id}/deliveries/{deliveryId}/redeliver': changes,
  'POST /orgs/{orgId}/radio-health-runs': 'An organization has one at a time.',
  'POST /orgs/{orgId}/people/{id}/sign-in-links': 'Links are deleted after a day.',
  'POST /fleet/forecast': 'It stores nothing.',
}

const isScope = (access: string) => (scopes as readonly string[]).includes(access)
const posts = Object.entries(createOpenApi(routes, 'http://routerfleet.test').paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method, operation]) => method === 'post' && isScope(operation['x-access']))
    .map(() => ({ name: `POST ${path}`, path })),
)
const limited = posts.flatMap(({ name, path }) => (limitOf[name] ? [{ name, path, limit: limitOf[name] }] : []))

let api: TestControlPlane
let world: World
let deviceIds: string[]

beforeAll(async () => {
  const plans = { none: { ...allLimits(0), profileVersions: 1 }, pair: allLimits(2) }
  api = await startControlPlane({ PLANS_FILE: await plansFileWith(plans) })
  world = await createWorld(api)
  const device = async (serial: string) => {
    const json = { organizationId: world.orgId, serial, name: 'R', model: 'M' }
    return (await api.call('POST', '/devices', { token: world.key, json })).body.id
  }
  deviceIds = await Promise.all(Array.from({ length: 7 }, (_, n) => device(`L-${n}`)))
})
afterAll(() => api.close())

const usePlan = (plan: string) =>
  api.services.pool.query('UPDATE organization SET plan = $2 WHERE id = $1', [world.orgId, plan])

/** The body of the matrix with a name, a digest and a device of its own. */
function nthBody(name: string, n: number): unknown {
  const json = entries[name]?.json?.(world) as Record<string, unknown> | undefined
  return {
    ...json,
    ...(json && 'email' in json ? { email: `${n}-${json.email}` } : {}),
    ...(json && 'name' in json ? { name: `${json.name} ${n}` } : {}),
    ...(json && 'sha256' in json ? { sha256: n.toString(16).padStart(64, 'e') } : {}),
    ...(json && 'deviceIds' in json ? { deviceIds: [deviceIds[n % deviceIds.length]] } : {}),
  }
}

function attempt({ name, path }: { name: string; path: string }, n: number): Promise<Answer> {
  const concrete = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
    parameter === 'id' ? world[entries[name]?.id ?? 'deviceId'] : world[parameter as keyof World],
  )
  return api.call('POST', concrete, { token: world.key, json: nthBody(name, n) })
}

test('every POST of an organization has a limit or a reason to have none', () => {
  const named = [...Object.keys(limitOf), ...Object.keys(withoutLimit)].sort()
  expect(posts.map(({ name }) => name).sort()).toEqual(named)
})

test('docs/limits.md has every limit with its number', async () => {
  const page = await readFile(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  const documented = [...page.matchAll(/^\| `(\w+)` \|.*\| ([\d,]+) \|$/gm)].map(([, name, most = '']) => [
    name,
    Number(most.replaceAll(',', '')),
  ])
  expect(documented.sort()).toEqual(limitNames.map((name) => [name, limitNamed(name).most]).sort())
})

test('GET /plans and the usage of an organization name the limits', async () => {
  const { items } = (await api.call('GET', '/plans', { token: world.key })).body
  const limits = items.find(({ name }: { name: string }) => name === 'enterprise').limits
  expect(limits).toMatchObject({ webhooks: 50, groups: 1_000, profiles: 1_000, savedViews: 1_000, places: 1_000 })
  expect(limits).toMatchObject({ apiKeys: 1_000, enrollmentKeys: 1_000, alertRules: 200, profileVersions: 200 })
  const usage = (await api.call('GET', `/orgs/${world.orgId}/usage`, { token: world.key })).body
  expect(usage.limits).toMatchObject({ webhooks: { limit: 50, used: 1 }, groups: { limit: 1_000, used: 1 } })
})

describe('409 `limit_reached` beyond the limit; what exists stays', () => {
  test.each(limited)('$name: $limit', async (operation) => {
    await usePlan('none')
    const answer = await attempt(operation, 0)
    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 0, used: expect.any(Number), detail: expect.stringContaining('at most 0') },
    })
    expect((await api.call('GET', `/orgs/${world.orgId}/groups/${world.groupId}`, { token: world.key })).status).toBe(
      200,
    )
  })
})

describe('concurrent requests do not exceed the limit', () => {
  test.each(limited)('$name: $limit', async (operation) => {
    await usePlan('pair')
    await Promise.all([1, 2, 3, 4, 5, 6].map((n) => attempt(operation, n)))
    // The first device is none of the members, whichever requests were first.
    expect(await attempt(operation, 0)).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 2, used: 2 },
    })
  })
})
