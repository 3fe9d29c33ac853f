import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const nowhere = '00000000-0000-4000-8000-000000000000'
const subscribe = (token: string, orgId: string, json: unknown) =>
  api.call('PUT', `/orgs/${orgId}/subscription`, { token, json })

describe('PUT /orgs/:orgId/subscription', () => {
  test('200 sets plan, status and contract quota; without a contract quota the quota of the plan applies', async () => {
    const { id, key } = await api.newOrganization({ plan: 'free' })
    const contract = await subscribe(api.platformKey, id, { plan: 'pro', status: 'trialing', deviceQuota: 2_500 })
    expect(contract).toMatchObject({
      status: 200,
      body: { id, plan: 'pro', subscription: { status: 'trialing', deviceQuota: 2_500 } },
    })
    const standard = await subscribe(api.platformKey, id, { plan: 'pro', status: 'active' })
    expect(standard.body.subscription).toEqual({ status: 'active', deviceQuota: 1_000 })
    const audit = await api.call('GET', `/orgs/${id}/audit`, { token: key })
    expect(audit.body.items[0]).toMatchObject({
      action: 'organization.subscription_changed',
      detail: { plan: 'pro', status: 'active' },
    })
  })

  test('400 for an unknown plan or status and a negative quota; 403 and 404 for callers other than the platform', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    for (const json of [
      { plan: 'gold', status: 'active' },
      { plan: 'pro', status: 'odd' },
      { plan: 'pro', status: 'active', deviceQuota: -1 },
      { plan: 'pro' },
    ]) {
      expect((await subscribe(api.platformKey, mine.id, json)).status).toBe(400)
    }
    const json = { plan: 'pro', status: 'active' }
    expect((await subscribe(mine.key, mine.id, json)).status).toBe(403)
    expect((await subscribe(mine.key, other.id, json)).status).toBe(404)
    expect((await subscribe(api.platformKey, nowhere, json)).status).toBe(404)
  })

  test('400 for an unknown plan comes before 403 and 404', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const json = { plan: 'gold', status: 'active' }
    expect((await subscribe(mine.key, mine.id, json)).status).toBe(400)
    expect((await subscribe(mine.key, other.id, json)).status).toBe(400)
    expect((await subscribe(api.platformKey, nowhere, json)).status).toBe(400)
  })

  test('a suspended organization can be read, and devices and keys can be deleted, but other writes return 402', async () => {
    const { id, key } = await api.newOrganization()
    const post = (path: string, json: unknown) => api.call('POST', path, { token: key, json })
    const device = await post('/devices', { organizationId: id, serial: 'A', name: 'R', model: 'M' })
    await subscribe(api.platformKey, id, { plan: 'pro', status: 'suspended' })
    expect((await api.call('GET', '/devices', { token: key })).body.items).toHaveLength(1)
    for (const answer of [
      await post('/devices', { organizationId: id, serial: 'B', name: 'R', model: 'M' }),
      await post(`/devices/${device.body.id}/token`, {}),
      await post(`/orgs/${id}/groups`, { name: 'G' }),
      await post(`/orgs/${id}/configs`, { name: 'P', settings: {} }),
    ]) {
      expect(answer).toMatchObject({ status: 402, body: { code: 'subscription_inactive' } })
    }
    expect((await post(`/orgs/${id}/api-keys`, { name: 'K', role: 'viewer' })).status).toBe(201)
    expect((await api.call('DELETE', `/devices/${device.body.id}`, { token: key })).status).toBe(204)
  })
})

describe('GET /orgs/:orgId/usage', () => {
  test('200 returns the devices by status and the limit', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    await api.call('POST', '/devices', { token: key, json: { organizationId: id, serial: 'A', name: 'R', model: 'M' } })
    const { body } = await api.call('GET', `/orgs/${id}/usage`, { token: key })
    expect(body).toMatchObject({
      devices: { used: 1, limit: 1_000, byStatus: { provisioning: 1, online: 0, offline: 0, error: 0, disabled: 0 } },
      historyDays: 30,
      features: { smartTagGroups: true },
    })
  })
})

describe('GET /orgs/:orgId/audit', () => {
  test('200 returns actor, action and request, newest first, with filters and pages', async () => {
    const { id, key } = await api.newOrganization()
    const headers = { 'x-request-id': 'trace-7' }
    const json = { organizationId: id, serial: 'A', name: 'R', model: 'M' }
    const device = await api.call('POST', '/devices', { token: key, json, headers })
    await api.call('PATCH', `/devices/${device.body.id}`, { token: key, json: { name: 'S' } })
    const all = await api.call('GET', `/orgs/${id}/audit`, { token: key })
    expect(all.body.items.map(({ action }: { action: string }) => action)).toEqual(['device.updated', 'device.created'])
    const created = await api.call('GET', `/orgs/${id}/audit?action=device.created&limit=1`, { token: key })
    expect(created.body).toMatchObject({
      items: [
        { actor: `key:${key.split('_')[1]}`, subjectType: 'device', subjectId: device.body.id, requestId: 'trace-7' },
      ],
      nextCursor: null,
    })
  })
})

describe('PATCH /orgs/:orgId', () => {
  test('200 renames it; 400 for an empty body, 403 without org:write, 404 for another organization', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const rename = (token: string, orgId: string, json: unknown) => api.call('PATCH', `/orgs/${orgId}`, { token, json })
    expect(await rename(mine.key, mine.id, { name: ' New ' })).toMatchObject({ status: 200, body: { name: 'New' } })
    expect((await rename(mine.key, mine.id, {})).status).toBe(400)
    expect((await rename(await api.newKey([mine.id], 'viewer'), mine.id, { name: 'New' })).status).toBe(403)
    expect((await rename(mine.key, other.id, { name: 'New' })).status).toBe(404)
    expect((await rename(api.platformKey, nowhere, { name: 'New' })).status).toBe(404)
  })
})

describe('GET /orgs', () => {
  test('200 lists the organizations that the caller can read; all for the platform, in pages', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const both = await api.newKey([a.id, b.id], 'viewer')
    const ids = (answer: { body: { items: { id: string }[] } }) => answer.body.items.map(({ id }) => id)
    expect(ids(await api.call('GET', '/orgs', { token: both }))).toEqual([b.id, a.id])
    expect(ids(await api.call('GET', '/orgs', { token: await api.newKey([a.id], ['device:read']) }))).toEqual([])
    const page = await api.call('GET', '/orgs?limit=1', { token: api.platformKey })
    expect(ids(page)).toEqual([b.id])
    expect(
      ids(await api.call('GET', `/orgs?limit=1&cursor=${page.body.nextCursor}`, { token: api.platformKey })),
    ).toEqual([a.id])
  })
})
