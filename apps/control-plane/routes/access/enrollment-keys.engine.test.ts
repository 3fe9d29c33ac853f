import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Scope } from '#fleet/access/scopes'
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

  test('201 for a gateway only if the creator may configure devices; 403 names the missing scopes', async () => {
    const { id } = await api.newOrganization()
    const create = async (held: Scope[], fields: object) => {
      const token = await api.newKey([id], held)
      const { status, body } = await api.call('POST', keysOf(id), {
        token,
        json: { name: 'K', autoCreate: false, ...fields },
      })
      return [status, body.detail]
    }
    const gateway = { allowGateway: true }
    const missing = (names: string) => [403, `The required ${names}.`]
    expect(await create(['org:write'], gateway)).toEqual(missing('scopes are missing: device:update, config:apply'))
    expect(await create(['org:write', 'device:update'], gateway)).toEqual(missing('scope is missing: config:apply'))
    expect(await create(['device:update', 'config:apply'], gateway)).toEqual(missing('scope is missing: org:write'))
    expect(await create(['org:write'], { autoCreate: true })).toEqual([201, undefined])
    expect(await create(['org:write', 'device:update', 'config:apply'], gateway)).toEqual([201, undefined])
  })

  test('201 for the gateway of a group; 404 for a group of others, 400 for a key that is no gateway’s', async () => {
    const [{ id, key }, other] = [await api.newOrganization(), await api.newOrganization()]
    const groupOf = async (orgId: string, token: string) =>
      (await api.call('POST', `/orgs/${orgId}/groups`, { token, json: { name: 'Trams' } })).body.id
    const groupId = await groupOf(id, key)
    const create = (fields: object, token = key) =>
      api.call('POST', keysOf(id), { token, json: { name: 'K', autoCreate: false, groupId, ...fields } })
    expect(await create({ allowGateway: true })).toMatchObject({ status: 201, body: { allowGateway: true, groupId } })
    const listed = await api.call('GET', keysOf(id), { token: key })
    expect(listed.body.items).toMatchObject([{ groupId }])
    const foreign = { allowGateway: true, groupId: await groupOf(other.id, other.key) }
    expect((await create(foreign)).status).toBe(404)
    expect((await create(foreign, await api.newKey([id], ['org:write']))).status).toBe(404)
    expect((await create({})).status).toBe(400)
    expect((await create({ allowGateway: true, autoCreate: true })).status).toBe(400)
  })

  test('403 for listing without org:write', async () => {
    const { id } = await api.newOrganization()
    expect((await api.call('GET', keysOf(id), { token: await api.newKey([id], 'operator') })).status).toBe(403)
  })
})
