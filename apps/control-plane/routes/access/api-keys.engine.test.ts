import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { scopesOfRole } from '#fleet/access/scopes'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const keysOf = (orgId: string) => `/orgs/${orgId}/api-keys`

describe('POST /orgs/:orgId/api-keys', () => {
  test('201 returns a key once; the key has the granted scopes', async () => {
    const { id, key } = await api.newOrganization()
    const answer = await api.call('POST', keysOf(id), { token: key, json: { name: 'Dashboard', role: 'viewer' } })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: 'Dashboard',
      scopes: scopesOfRole.viewer,
      key: expect.stringMatching(/^flk_/),
    })
    expect((await api.call('GET', '/devices', { token: answer.body.key })).status).toBe(200)
    const list = await api.call('GET', keysOf(id), { token: key })
    expect(JSON.stringify(list.body)).not.toContain(answer.body.key)
    expect(list.body.items[0]).toEqual({
      id: answer.body.id,
      name: 'Dashboard',
      scopes: scopesOfRole.viewer,
      role: 'viewer',
      alsoIn: [],
      createdBy: expect.stringMatching(/^key:/),
      createdAt: expect.any(String),
      expiresAt: null,
      lastUsedAt: null,
    })
  })

  test('201 with alsoIn creates a key for several organizations in which the creator manages keys', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const provider = await api.newKey([a.id, b.id], ['key:manage', 'device:read', 'device:transfer'])
    const json = {
      name: 'Mover',
      scopes: ['device:transfer'],
      alsoIn: [{ organizationId: b.id, scopes: ['device:transfer'] }],
    }
    const answer = await api.call('POST', keysOf(a.id), { token: provider, json })
    expect(answer.status).toBe(201)
    const seenFromA = await api.call('GET', keysOf(a.id), { token: a.key })
    expect(seenFromA.body.items.find((item: { id: string }) => item.id === answer.body.id)).toMatchObject({
      alsoIn: [{ organizationId: b.id, scopes: ['device:transfer'] }],
    })
    const seenFromB = await api.call('GET', keysOf(b.id), { token: b.key })
    expect(seenFromB.body.items.find((item: { id: string }) => item.id === answer.body.id)).toMatchObject({
      alsoIn: [],
    })
  })

  test('400 for an expiry in the past comes before 403 and 404', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const viewer = await api.newKey([mine.id], ['device:read'])
    const json = { name: 'K', role: 'viewer', expiresAt: '2001-01-01T00:00:00Z' }
    expect((await api.call('POST', keysOf(mine.id), { token: viewer, json })).status).toBe(400)
    expect((await api.call('POST', keysOf(other.id), { token: viewer, json })).status).toBe(400)
  })

  test.each([
    ['neither scopes nor role', {}],
    ['both scopes and role', { role: 'viewer', scopes: ['device:read'] }],
    ['an unknown scope', { scopes: ['device:fly'] }],
    ['an expiry in the past', { role: 'viewer', expiresAt: '2001-01-01T00:00:00Z' }],
    ['alsoIn without scopes', { role: 'viewer', alsoIn: [{ organizationId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f' }] }],
  ])('400 for %s', async (_what, fields) => {
    const { id, key } = await api.newOrganization()
    expect((await api.call('POST', keysOf(id), { token: key, json: { name: 'K', ...fields } })).status).toBe(400)
  })

  test('403 for a scope the creator lacks, for platform, and without key:manage', async () => {
    const { id, key } = await api.newOrganization()
    const limited = await api.newKey([id], ['key:manage', 'device:read'])
    const create = (token: string, scopes: string[]) =>
      api.call('POST', keysOf(id), { token, json: { name: 'K', scopes } })
    expect((await create(limited, ['device:delete'])).status).toBe(403)
    expect((await create(key, ['platform'])).status).toBe(403)
    expect((await create(api.platformKey, ['platform'])).status).toBe(403)
    expect((await create(await api.newKey([id], 'operator'), ['device:read'])).status).toBe(403)
  })

  test('404 for another organization, also in alsoIn', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    expect(
      (await api.call('POST', keysOf(other.id), { token: mine.key, json: { name: 'K', role: 'viewer' } })).status,
    ).toBe(404)
    const json = { name: 'K', role: 'viewer', alsoIn: [{ organizationId: other.id, role: 'viewer' }] }
    expect((await api.call('POST', keysOf(mine.id), { token: mine.key, json })).status).toBe(404)
  })

  test('409 already_issued for a repeated Idempotency-Key', async () => {
    const { id, key } = await api.newOrganization()
    const call = { token: key, json: { name: 'K', role: 'viewer' }, headers: { 'idempotency-key': 'once' } }
    expect((await api.call('POST', keysOf(id), call)).status).toBe(201)
    expect(await api.call('POST', keysOf(id), call)).toMatchObject({ status: 409, body: { code: 'already_issued' } })
    const { rows } = await api.services.pool.query<{ response: unknown }>('SELECT response FROM idempotency_record')
    expect(rows.every(({ response }) => !JSON.stringify(response).includes('flk_'))).toBe(true)
  })
})

describe('DELETE /orgs/:orgId/api-keys/:id', () => {
  test('204 revokes the key and its access tokens within 5 s', async () => {
    const { id, key } = await api.newOrganization()
    const created = await api.call('POST', keysOf(id), { token: key, json: { name: 'K', role: 'viewer' } })
    const token = await exchange(created.body.key)
    for (const bearer of [created.body.key, token]) {
      expect((await api.call('GET', '/devices', { token: bearer })).status).toBe(200)
    }
    expect((await api.call('DELETE', `${keysOf(id)}/${created.body.id}`, { token: key })).status).toBe(204)
    for (const bearer of [created.body.key, token]) {
      const refused = async () => expect((await api.call('GET', '/devices', { token: bearer })).status).toBe(401)
      await vi.waitFor(refused, { timeout: 5_000, interval: 50 })
    }
  })

  test('404 for a key that is revoked, malformed or of another organization', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const created = await api.call('POST', keysOf(other.id), { token: other.key, json: { name: 'K', role: 'viewer' } })
    const remove = (keyId: string) => api.call('DELETE', `${keysOf(mine.id)}/${keyId}`, { token: mine.key })
    expect((await remove(created.body.id)).status).toBe(404)
    expect((await remove('0123456789abcdef')).status).toBe(404)
    expect((await remove('nonsense')).status).toBe(404)
    expect((await api.call('GET', '/devices', { token: created.body.key })).status).toBe(200)
  })
})

async function exchange(key: string): Promise<string> {
  const [, keyId, secret] = key.split('_')
  const answer = await api.call('POST', '/auth/token', {
    headers: {
      authorization: `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
  expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 900 } })
  return answer.body.access_token
}
