import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const keysOf = (orgId: string) => `/orgs/${orgId}/enrollment-keys`

describe('/orgs/:orgId/enrollment-keys', () => {
  test('201 returns the key once; the list has no key, newest first and in pages; 204 revokes it', async () => {
    const { id, key } = await api.newOrganization()
    const json = {
      name: 'Workshop',
      autoCreate: true,
      models: ['RX-500', 'RX-500'],
      maxDevices: 5,
      expiresAt: '2999-01-01T00:00:00+02:00',
    }
    const created = await api.call('POST', keysOf(id), { token: key, json })
    expect(created).toMatchObject({
      status: 201,
      body: {
        name: 'Workshop',
        models: ['RX-500'],
        maxDevices: 5,
        enrolledCount: 0,
        expiresAt: '2998-12-31T22:00:00.000Z',
        key: expect.stringMatching(/^fle_/),
      },
    })
    await api.call('POST', keysOf(id), { token: key, json: { name: 'Second', autoCreate: false } })
    const first = await api.call('GET', `${keysOf(id)}?limit=1`, { token: key })
    const second = await api.call('GET', `${keysOf(id)}?limit=1&cursor=${first.body.nextCursor}`, { token: key })
    expect([...first.body.items, ...second.body.items].map(({ name }) => name)).toEqual(['Second', 'Workshop'])
    expect(second.body.nextCursor).toBeNull()
    expect(JSON.stringify([first.body, second.body])).not.toContain('fle_')
    expect((await api.call('DELETE', `${keysOf(id)}/${created.body.id}`, { token: key })).status).toBe(204)
    expect((await api.call('DELETE', `${keysOf(id)}/${created.body.id}`, { token: key })).status).toBe(404)
  })

  test('400 for an expiry in the past comes before 403 and 404', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const viewer = await api.newKey([mine.id], ['device:read'])
    const json = { name: 'K', autoCreate: true, expiresAt: '2001-01-01T00:00:00Z' }
    expect((await api.call('POST', keysOf(mine.id), { token: viewer, json })).status).toBe(400)
    expect((await api.call('POST', keysOf(other.id), { token: viewer, json })).status).toBe(400)
  })

  test('400 without autoCreate, for no devices and for an expiry in the past', async () => {
    const { id, key } = await api.newOrganization()
    for (const fields of [
      {},
      { autoCreate: true, maxDevices: 0 },
      { autoCreate: true, expiresAt: '2001-01-01T00:00:00Z' },
    ]) {
      expect((await api.call('POST', keysOf(id), { token: key, json: { name: 'K', ...fields } })).status).toBe(400)
    }
  })

  test('403 for listing without org:write', async () => {
    const { id } = await api.newOrganization()
    expect((await api.call('GET', keysOf(id), { token: await api.newKey([id], 'operator') })).status).toBe(403)
  })
})
