import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const statusOf = async (token: string) => (await api.call('GET', '/devices', { token })).status

async function newKey(owner: { id: string; key: string }, json: object = {}) {
  const body = { name: 'Dashboard', role: 'viewer', ...json }
  const created = await api.call('POST', `/orgs/${owner.id}/api-keys`, { token: owner.key, json: body })
  return { ...created.body, path: `/orgs/${owner.id}/api-keys/${created.body.id}` }
}

const listed = async ({ id, key }: { id: string; key: string }, keyId: string) =>
  (await api.call('GET', `/orgs/${id}/api-keys`, { token: key })).body.items.find(
    (item: { id: string }) => item.id === keyId,
  )

describe('POST /orgs/:orgId/api-keys/:id/rotate', () => {
  test('201 returns a new key with the same scopes; the old one works until its grace period ends', async () => {
    const owner = await api.newOrganization()
    const old = await newKey(owner)
    const rotated = await api.call('POST', `${old.path}/rotate`, {
      token: owner.key,
      json: { oldKeyExpiresInMinutes: 60 },
    })
    expect(rotated).toMatchObject({ status: 201, body: { name: 'Dashboard', scopes: old.scopes } })
    expect(rotated.body.id).not.toBe(old.id)
    expect([await statusOf(old.key), await statusOf(rotated.body.key)]).toEqual([200, 200])
    const expiresInMs = Date.parse((await listed(owner, old.id)).expiresAt) - api.services.clock()
    expect(expiresInMs).toBeGreaterThan(59 * 60_000)
    expect(expiresInMs).toBeLessThan(61 * 60_000)
    const audit = await api.call('GET', `/orgs/${owner.id}/audit?action=api_key.rotated`, { token: owner.key })
    expect(audit.body.items).toMatchObject([{ subjectId: old.id, detail: { newKeyId: rotated.body.id } }])
  })

  test('201 with 0 minutes revokes the old key at once', async () => {
    const owner = await api.newOrganization()
    const old = await newKey(owner)
    expect(await statusOf(old.key)).toBe(200)
    const json = { oldKeyExpiresInMinutes: 0 }
    expect((await api.call('POST', `${old.path}/rotate`, { token: owner.key, json })).status).toBe(201)
    await vi.waitFor(async () => expect(await statusOf(old.key)).toBe(401), 5_000)
  })

  test('201 keeps the expiry and the grants in other organizations', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const provider = { id: a.id, key: await api.newKey([a.id, b.id], 'admin') }
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const alsoIn = [{ organizationId: b.id, role: 'viewer' }]
    const old = await newKey(provider, { expiresAt, alsoIn })
    const { body } = await api.call('POST', `${old.path}/rotate`, { token: provider.key, json: {} })
    expect(await listed(provider, body.id)).toMatchObject({ expiresAt, alsoIn: [{ organizationId: b.id }] })
    // The administrator of one organization cannot issue a key for the other.
    expect((await api.call('POST', `${old.path}/rotate`, { token: a.key, json: {} })).status).toBe(404)
  })

  test('403 for scopes that the caller does not hold', async () => {
    const owner = await api.newOrganization()
    const old = await newKey(owner, { role: 'admin' })
    const manager = await api.newKey([owner.id], ['key:manage'])
    expect(await api.call('POST', `${old.path}/rotate`, { token: manager, json: {} })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
  })

  test('404 for a revoked key and for the key of another organization', async () => {
    const [owner, stranger] = [await api.newOrganization(), await api.newOrganization()]
    const old = await newKey(owner)
    const foreign = `/orgs/${stranger.id}/api-keys/${old.id}/rotate`
    expect((await api.call('POST', foreign, { token: stranger.key, json: {} })).status).toBe(404)
    await api.call('DELETE', old.path, { token: owner.key })
    expect((await api.call('POST', `${old.path}/rotate`, { token: owner.key, json: {} })).status).toBe(404)
  })
})

describe('lastUsedAt', () => {
  test('is null until the key is used, and then the time of its use', async () => {
    const owner = await api.newOrganization()
    const { id, key } = await newKey(owner)
    expect((await listed(owner, id)).lastUsedAt).toBeNull()
    await statusOf(key)
    await api.services.lastUses.flush()
    const age = api.services.clock() - Date.parse((await listed(owner, id)).lastUsedAt)
    expect(age).toBeGreaterThanOrEqual(0)
    expect(age).toBeLessThan(60_000)
  })
})

describe('GET /plans', () => {
  test('200 lists the plans with their limits', async () => {
    const { key } = await api.newOrganization()
    const { body } = await api.call('GET', '/plans', { token: key })
    expect(body.items).toContainEqual(expect.objectContaining({ name: 'free', deviceQuota: expect.any(Number) }))
  })
})

describe('GET /orgs/:orgId/audit', () => {
  test('200 with from and to returns the records between them', async () => {
    const { id, key } = await api.newOrganization()
    const rename = (name: string) => api.call('PATCH', `/orgs/${id}`, { token: key, json: { name } })
    await rename('First')
    const read = async (query: string) =>
      (await api.call('GET', `/orgs/${id}/audit?${query}`, { token: key })).body.items
    const [{ at: middle }] = await read('')
    await rename('Second')
    const names = async (query: string) =>
      (await read(query)).map(({ detail }: { detail: { name: string } }) => detail.name)
    const after = encodeURIComponent(new Date(Date.parse(middle) + 1).toISOString())
    expect(await names(`from=${after}`)).toEqual(['Second'])
    expect(await names(`to=${after}`)).toEqual(['First'])
  })
})
