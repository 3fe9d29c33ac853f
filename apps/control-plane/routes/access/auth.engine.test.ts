import { createHmac } from 'node:crypto'
import { exportSPKI, importJWK, type JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { startTokenIssuer } from '#test/token-issuer'

let api: TestControlPlane
let issuer: Awaited<ReturnType<typeof startTokenIssuer>>
beforeAll(async () => {
  issuer = await startTokenIssuer()
  api = await startControlPlane(issuer.environment)
})
afterAll(async () => {
  await api.close()
  issuer.close()
})

const form = (fields: Record<string, string> | [string, string][], headers: Record<string, string> = {}) =>
  api.call('POST', '/auth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })

describe('POST /auth/token', () => {
  test('200 by form fields, with the key’s secret or the whole key', async () => {
    const { key } = await api.newOrganization()
    const [, id = '', secret = ''] = key.split('_')
    for (const clientSecret of [secret, key]) {
      const answer = await form({ grant_type: 'client_credentials', client_id: id, client_secret: clientSecret })
      expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 900 } })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect((await api.call('GET', '/devices', { token: answer.body.access_token })).status).toBe(200)
    }
  })

  test('400 unsupported_grant_type, invalid_request and invalid_scope', async () => {
    const { key } = await api.newOrganization()
    const client = { client_id: key.split('_')[1] ?? '', client_secret: key }
    const grant = { grant_type: 'client_credentials' }
    expect(await form({ ...client, grant_type: 'password' })).toMatchObject({
      status: 400,
      body: { error: 'unsupported_grant_type' },
    })
    expect(await form(client)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await form({ ...client, ...grant, scope: 'x' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    })
    const twice = [...Object.entries({ ...client, ...grant }), ['client_id', 'x'] as [string, string]]
    expect(await form(twice)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', detail: 'client_id must be sent only once.' },
    })
  })

  test('401 invalid_client for a wrong secret, no credentials and a bearer header', async () => {
    const { key } = await api.newOrganization()
    const grant = { grant_type: 'client_credentials' }
    const wrong = { client_id: key.split('_')[1] ?? '', client_secret: 'f'.repeat(64) }
    for (const answer of [
      await form({ ...grant, ...wrong }),
      await form(grant),
      await form(grant, { authorization: `Bearer ${key}` }),
    ]) {
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic/)
    }
  })

  test('415 for JSON, also with the member `error`', async () => {
    expect(await api.call('POST', '/auth/token', { json: {} })).toMatchObject({
      status: 415,
      body: { error: 'invalid_request' },
    })
  })
})

describe('our own access tokens', () => {
  test('are signed with the published key', async () => {
    const { body } = await api.call('GET', '/.well-known/jwks.json')
    expect(body.keys).toEqual([
      expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256', kid: expect.any(String) }),
    ])
    expect(body.keys[0]).not.toHaveProperty('d')
  })

  test('401 for an altered, expired or unsigned token, or one signed with the public key as a secret', async () => {
    const { key } = await api.newOrganization()
    const keyId = key.split('_')[1] ?? ''
    const { accessTokens } = api.services
    const good = await accessTokens.issue(keyId, Date.now())
    const [header = '', payload = '', signature = ''] = good.split('.')
    const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const publicJwk = accessTokens.jwks.keys[0] ?? { kty: 'EC' }
    const publicPem = await exportSPKI((await importJWK(publicJwk, 'ES256')) as CryptoKey)
    const confused = `${base64({ alg: 'HS256', typ: 'at+jwt' })}.${payload}`
    const attacks = [
      `${header}.${base64({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), client_id: 'ffffffffffffffff' })}.${signature}`,
      await accessTokens.issue(keyId, Date.now() - 901_000),
      `${base64({ alg: 'none', typ: 'at+jwt' })}.${payload}.`,
      `${confused}.${createHmac('sha256', publicPem).update(confused).digest('base64url')}`,
      'a.b.c',
    ]
    expect((await api.call('GET', '/devices', { token: good })).status).toBe(200)
    for (const token of attacks) expect((await api.call('GET', '/devices', { token })).status).toBe(401)
  })
})

describe('an identity provider’s access tokens', () => {
  test('create jobs that wait for a good moment, as keys and sessions do', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    const asKey = { token: key }
    const device = { organizationId: id, serial: 'SN-1', name: 'Bus 1', model: 'RX' }
    const { body: created } = await api.call('POST', '/devices', { ...asKey, json: device })
    const { body: group } = await api.call('POST', `/orgs/${id}/groups`, { ...asKey, json: { name: 'Buses' } })
    const members = { deviceIds: [created.id] }
    await api.call('POST', `/orgs/${id}/groups/${group.id}/members`, { ...asKey, json: members })
    const link = await api.call('POST', '/auth/sign-in-links', asKey)
    const page = { 'x-routerfleet-page': '1' }
    const json = { link: new URL(link.body.url).hash.split('link=')[1] }
    const session = await api.call('POST', '/auth/session', { json, headers: page })
    const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
    const user = await issuer.sign({ orgs: { [id]: ['job:create', 'job:read', 'group:read', 'device:read'] } })
    for (const caller of [asKey, { token: user }, { headers: { ...page, cookie } }]) {
      const delivery = {
        when: 'goodSignal',
        minQuality: 'fair',
        latestAt: '2038-01-01T00:00:00.000Z',
        atLatest: 'expire',
      }
      const job = { kind: 'collect_diagnostics', delivery }
      const single = await api.call('POST', `/devices/${created.id}/jobs`, { ...caller, json: job })
      const expected = { delivery, heldBecause: 'noSignal', expiresAt: delivery.latestAt }
      expect(single).toMatchObject({ status: 202, body: expected })
      for (const rollout of [undefined, { canary: 1 }]) {
        const path = `/orgs/${id}/groups/${group.id}/jobs`
        const batch = await api.call('POST', path, { ...caller, json: { ...job, rollout } })
        expect(batch).toMatchObject({ status: 202, body: { delivery, total: 1, held: 0 } })
      }
    }
  })

  test('grant the scopes of their claim, and never platform access', async () => {
    const { id } = await api.newOrganization()
    const token = await issuer.sign({ orgs: { [id]: ['device:read', 'platform', 'unknown'] } })
    expect((await api.call('GET', `/devices?orgId=${id}`, { token })).status).toBe(200)
    expect((await api.call('GET', `/orgs/${id}/usage`, { token })).status).toBe(403)
    expect((await api.call('POST', '/orgs', { token, json: { name: 'A' } })).status).toBe(403)
  })

  test('403 for lists, and an empty list of organizations, without organizations in the claim', async () => {
    const token = await issuer.sign({ orgs: { '00000000-0000-4000-8000-000000000000': ['device:read'] } })
    expect((await api.call('GET', '/devices', { token })).status).toBe(403)
    expect(await api.call('GET', '/orgs', { token })).toMatchObject({
      status: 200,
      body: { items: [], nextCursor: null },
    })
  })

  test('cannot create a sign-in link', async () => {
    const { id } = await api.newOrganization()
    const token = await issuer.sign({ orgs: { [id]: ['admin'] } })
    expect(await api.call('POST', '/auth/sign-in-links', { token })).toMatchObject({
      status: 403,
      body: { code: 'api_key_required' },
    })
  })

  test.each([
    ['another issuer', { iss: 'https://evil.example.test' }, {}],
    ['another audience', { aud: 'https://other.example.test' }, {}],
    ['a token that expired', { exp: 1_000_000_000 }, {}],
    ['a token that is not valid yet', { nbf: 4_000_000_000 }, {}],
    ['no subject', { sub: undefined }, {}],
    ['an id token’s type', {}, { typ: 'id+jwt' }],
    ['an unknown key id', {}, { kid: '../../dev/null' }],
  ])('401 for %s', async (_what, claims, header) => {
    const { id } = await api.newOrganization()
    const token = await issuer.sign({ orgs: { [id]: ['admin'] }, ...(claims as JWTPayload) }, header)
    expect((await api.call('GET', '/devices', { token })).status).toBe(401)
  })
})
