import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Scope, scopes } from '#fleet/access/scopes'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { attempt, concretePath, guarded, lastIdOf, type Operation } from './operations.ts'
import { createWorld, type World } from './world.ts'

// These tests walk all routes of the published contract. A new route is walked as soon as it has an entry in the matrix.

let api: TestControlPlane
let world: World
/** A second organization with one of everything. */
let other: World

beforeAll(async () => {
  api = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
  world = await createWorld(api)
  other = await createWorld(api)
})
afterAll(() => api.close())

const readScopes = scopes.filter((scope) => scope.endsWith(':read'))
const writes = guarded.filter(({ method }) => method !== 'GET')
const isScope = (access: string): access is Scope => scopes.some((scope) => scope === access)

/** Requests other than GET that a caller with read scopes may make: what they do, and the status here. */
const openToReaders: Record<string, { because: string; status: number }> = {
  'POST /fleet/forecast': { because: 'a query whose route does not fit into an address', status: 200 },
  'POST /orgs/{orgId}/views': { because: 'a view that only the caller sees', status: 201 },
  'DELETE /orgs/{orgId}/views/{id}': { because: 'views of the caller; this is another one’s', status: 404 },
  'POST /orgs/{orgId}/tool-calls': { because: 'records what the caller reads', status: 204 },
  'PATCH /auth/me': { because: 'the name of a person; this is a key', status: 403 },
  'POST /auth/sign-in-links': { because: 'signs in the holder of the key itself', status: 201 },
  'DELETE /auth/sessions/{id}': { because: 'sessions of the caller; this is another one’s', status: 404 },
}

/** Scopes that a read needs beside its own, because it joins two kinds of objects. */
const alsoNeeded: Record<string, Scope> = {
  'GET /orgs/{orgId}/configs/{id}/devices': 'device:read',
  'GET /devices/{id}/jobs': 'device:read',
}

describe('a caller with every read scope and no other writes nothing: 403', () => {
  test.each(writes)('$name', async (operation) => {
    const answer = await attempt(api, world, operation, { token: await api.newKey([world.orgId], readScopes) })
    const open = openToReaders[operation.name]
    if (open) expect(answer.status, open.because).toBe(open.status)
    else expect(answer).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })
})

describe('the scope of a read opens it, without any other', () => {
  const reads = guarded.filter(({ method, access }) => method === 'GET' && isScope(access))
  test.each(reads)('$access opens $name', async (operation) => {
    const also = alsoNeeded[operation.name]
    const held = [operation.access as Scope, ...(also ? [also] : [])]
    const token = await api.newKey([world.orgId], held)
    const headers = { authorization: `Bearer ${token}` }
    const answer = await api.fetch(concretePath(operation, world), { headers })
    expect(answer.status).toBeOneOf([200, 204])
    // A stream would not end.
    await answer.body?.cancel()
  })
})

describe('without the scope, an object of others and one that does not exist are the same 404', () => {
  // What only the platform may do is 403 for all others, whatever the id.
  const isOfPlatform = ({ path, access }: Operation) => access === 'platform' && !path.includes('{orgId}')
  const ofObjects = guarded.filter(
    (operation) => !isOfPlatform(operation) && /\{(id|\w+Id)\}[^{]*$/.test(operation.path.replace('{orgId}', '')),
  )
  test.each(ofObjects)('$name', async (operation) => {
    const weak: Scope = operation.access === 'audit:read' ? 'org:read' : 'audit:read'
    const token = await api.newKey([world.orgId], [weak])
    const unknownId = /keyId|tokenId/i.test(operation.entry.id ?? operation.path) ? '0123456789abcdef' : randomUUID()
    const bodies = []
    for (const lastId of [lastIdOf(operation, other), unknownId, 'no-id', `${unknownId}0`]) {
      const answer = await attempt(api, world, operation, { token, lastId })
      expect(answer, lastId).toMatchObject({ status: 404, body: { code: 'not_found' } })
      const { requestId: _requestId, ...body } = answer.body
      bodies.push(JSON.stringify(body).replaceAll(lastId, 'ID'))
    }
    expect(new Set(bodies).size, bodies.join('\n')).toBe(1)
  })
})

/** Writes that an organization may make without an active subscription. */
const openWhenSuspended: Record<string, string> = {
  'PUT /map-settings': 'the installation, not an organization',
  'PUT /orgs/{orgId}/subscription': 'ends the suspension',
  'POST /orgs': 'another organization',
  'PATCH /orgs/{orgId}': 'the organization itself',
  'POST /fleet/forecast': 'a query',
  'POST /orgs/{orgId}/tool-calls': 'records reads, which remain possible',
  'DELETE /devices/{id}': 'an organization that leaves deletes its devices',
  'POST /orgs/{orgId}/device-deletions': 'an organization that leaves deletes its devices',
  ...Object.fromEntries(
    [
      'POST /orgs/{orgId}/api-keys',
      'POST /orgs/{orgId}/api-keys/{id}/rotate',
      'DELETE /orgs/{orgId}/api-keys/{id}',
      'POST /orgs/{orgId}/enrollment-keys',
      'DELETE /orgs/{orgId}/enrollment-keys/{id}',
      'DELETE /devices/{id}/tokens/{tokenId}',
      'POST /auth/sign-in-links',
      'PATCH /auth/me',
      'PATCH /orgs/{orgId}/people/{id}',
      'DELETE /orgs/{orgId}/people/{id}',
      'POST /orgs/{orgId}/people/{id}/sign-in-links',
      'POST /orgs/{orgId}/invitations',
      'DELETE /orgs/{orgId}/invitations/{id}',
      'DELETE /auth/sessions/{id}',
      'DELETE /sessions/{id}',
      'DELETE /orgs/{orgId}/sessions/{id}',
    ].map((name) => [name, 'access: people read and revoke as before']),
  ),
  ...Object.fromEntries(
    [
      'POST /orgs/{orgId}/alerts/{id}/acknowledge',
      'POST /orgs/{orgId}/alerts/{id}/close',
      'PATCH /orgs/{orgId}/alerts/{id}',
      'POST /orgs/{orgId}/alert-acknowledgements',
      'POST /orgs/{orgId}/alert-closures',
    ].map((name) => [name, 'how people handle an alert']),
  ),
  ...Object.fromEntries(
    [
      'POST /orgs/{orgId}/webhooks',
      'PATCH /orgs/{orgId}/webhooks/{id}',
      'DELETE /orgs/{orgId}/webhooks/{id}',
      'POST /orgs/{orgId}/webhooks/{id}/rotate-secret',
      'DELETE /orgs/{orgId}/webhooks/{id}/old-secret',
      'POST /orgs/{orgId}/webhooks/{id}/test',
      'POST /orgs/{orgId}/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    ].map((name) => [name, 'events of what remains possible']),
  ),
}

const needsSubscription = ({ answers }: Operation) => answers.includes(402)

test('every write needs an active subscription, except those with a reason', () => {
  const open = writes.filter((operation) => !needsSubscription(operation)).map(({ name }) => name)
  expect(open.sort()).toEqual(Object.keys(openWhenSuspended).sort())
})

describe.each(['suspended', 'cancelled'])('while the subscription is %s: 402', (status) => {
  const change = (to: string) =>
    api.call('PUT', `/orgs/${world.orgId}/subscription`, {
      token: api.platformKey,
      json: { plan: 'enterprise', status: to },
    })
  beforeAll(() => change(status))
  afterAll(() => change('active'))

  test.each(guarded.filter(needsSubscription))('$name', async (operation) => {
    for (const token of [world.key, api.platformKey]) {
      expect(await attempt(api, world, operation, { token })).toMatchObject({
        status: 402,
        body: { code: 'subscription_inactive', subscriptionStatus: status },
      })
    }
  })
})

test('every list has pages', () => {
  const withoutPages = guarded.filter(({ fields }) => fields.includes('items') && !fields.includes('nextCursor'))
  // The modems and interfaces of a device, at most 512; the newest 1,000 times without service; a raster of cells, which its resolution limits; at most 100 operators.
  const limited = [
    'GET /api/{modelSegment}/{deviceId}/telemetry/data-use',
    'GET /api/{modelSegment}/{deviceId}/telemetry/outages',
    'GET /fleet/coverage',
    'GET /fleet/operators',
  ]
  expect(withoutPages.map(({ name }) => name)).toEqual(limited)
})
