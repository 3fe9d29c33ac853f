import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const setPlan = (organizationId: string, plan: string, status = 'active') =>
  api.services.pool.query('UPDATE organization SET plan = $2, subscription_status = $3 WHERE id = $1', [
    organizationId,
    plan,
    status,
  ])

async function newGroup(json: Record<string, unknown> = { name: 'Night buses' }, plan = 'pro') {
  const organization = await api.newOrganization({ plan })
  const path = `/orgs/${organization.id}/groups`
  const created = await api.call('POST', path, { token: organization.key, json })
  return { ...organization, path, created, one: `${path}/${created.body.id}` }
}

describe('POST /orgs/:orgId/groups', () => {
  test('201 creates a group with Location and ETag; tags count once', async () => {
    const { created, path } = await newGroup({ name: ' Night buses ', smartTags: ['bus', 'bus', 'night'] })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Night buses',
      smartTags: ['bus', 'night'],
      explicitDeviceCount: 0,
      effectiveDeviceCount: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`)
    expect(created.headers.get('etag')).toMatch(/^".+"$/)
  })

  test('400 without a name, with an unknown field, with 51 smart tags', async () => {
    const { id, key } = await api.newOrganization()
    const tooMany = Array.from({ length: 51 }, (_, index) => `t${index}`)
    for (const json of [{}, { name: 'A', colour: 'red' }, { name: 'A', smartTags: tooMany }, { name: '  ' }]) {
      expect((await api.call('POST', `/orgs/${id}/groups`, { token: key, json })).status).toBe(400)
    }
  })

  test('402 when the subscription is cancelled, also for the platform', async () => {
    const { id, path, one } = await newGroup()
    await setPlan(id, 'pro', 'cancelled')
    const token = api.platformKey
    expect(await api.call('POST', path, { token, json: { name: 'A' } })).toMatchObject({
      status: 402,
      body: { code: 'subscription_inactive' },
    })
    expect((await api.call('PATCH', one, { token, json: { name: 'A' } })).status).toBe(402)
    expect((await api.call('DELETE', one, { token })).status).toBe(402)
    expect((await api.call('GET', one, { token })).status).toBe(200)
  })

  test('403 plan_feature for smart tags on a plan without them; without smart tags 201', async () => {
    const { created, path, key } = await newGroup({ name: 'A', smartTags: [] }, 'free')
    expect(created.status).toBe(201)
    const json = { name: 'B', smartTags: ['bus'] }
    expect(await api.call('POST', path, { token: key, json })).toMatchObject({
      status: 403,
      body: { code: 'plan_feature' },
    })
  })

  test('403 without group:write, 404 for another organization’s key', async () => {
    const { id, path } = await newGroup()
    const reader = await api.newKey([id], ['group:read'])
    expect((await api.call('POST', path, { token: reader, json: { name: 'A' } })).status).toBe(403)
    const { key: stranger } = await api.newOrganization()
    expect((await api.call('POST', path, { token: stranger, json: { name: 'A' } })).status).toBe(404)
  })

  test('409 for a name that exists in the organization; another organization can use it', async () => {
    const { path, key } = await newGroup()
    expect(await api.call('POST', path, { token: key, json: { name: 'Night buses' } })).toMatchObject({
      status: 409,
      body: { code: 'group_name_taken' },
    })
    expect((await newGroup()).created.status).toBe(201)
  })
})

describe('GET /orgs/:orgId/groups', () => {
  test('200 counts explicit members and devices with any smart tag, each once', async () => {
    const { id, key, path, created } = await newGroup({ name: 'A', smartTags: ['bus', 'night'] })
    const { pool } = api.services
    const [tagged = ''] = await seedDevices(pool, id, 1, { tags: ['bus', 'night'] })
    await seedDevices(pool, id, 2, { tags: ['bus'] })
    await seedDevices(pool, id, 1, { tags: ['Bus'] })
    const [plain = ''] = await seedDevices(pool, id, 1)
    const { id: elsewhere } = await api.newOrganization()
    await seedDevices(pool, elsewhere, 3, { tags: ['bus'] })
    await pool.query(
      `INSERT INTO device_group_member (organization_id, group_id, device_id) SELECT $1, $2, unnest($3::uuid[])`,
      [id, created.body.id, [tagged, plain]],
    )
    const list = await api.call('GET', path, { token: key })
    expect(list.body.items).toMatchObject([{ explicitDeviceCount: 2, effectiveDeviceCount: 4 }])
    await setPlan(id, 'free')
    const downgraded = await api.call('GET', path, { token: key })
    expect(downgraded.body.items).toMatchObject([{ smartTags: ['bus', 'night'], effectiveDeviceCount: 2 }])
  })

  test('200 returns pages, newest first; 400 for an altered cursor and one of another list', async () => {
    const { id, key } = await api.newOrganization()
    const path = `/orgs/${id}/groups`
    for (const name of ['a', 'b', 'c']) await api.call('POST', path, { token: key, json: { name } })
    const first = await api.call('GET', `${path}?limit=2`, { token: key })
    expect(first.body.items.map((item: { name: string }) => item.name)).toEqual(['c', 'b'])
    expect(first.headers.get('link')).toContain('rel="next"')
    const next = await api.call('GET', `${path}?cursor=${first.body.nextCursor}`, { token: key })
    expect(next.body).toMatchObject({ items: [{ name: 'a' }], nextCursor: null })
    const altered = `${first.body.nextCursor.slice(0, -2)}AA`
    expect((await api.call('GET', `${path}?cursor=${altered}`, { token: key })).status).toBe(400)
    const elsewhere = `/orgs/${id}/configs?cursor=${first.body.nextCursor}`
    expect((await api.call('GET', elsewhere, { token: key })).status).toBe(400)
  })
})

describe('GET /orgs/:orgId/groups/:id', () => {
  test('200 with an ETag that changes with the members; 304 while it does not change', async () => {
    const { id, one, key, created } = await newGroup({ name: 'A', smartTags: ['bus'] })
    const headers = { 'if-none-match': String(created.headers.get('etag')) }
    expect((await api.call('GET', one, { token: key, headers })).status).toBe(304)
    await seedDevices(api.services.pool, id, 1, { tags: ['bus'] })
    expect(await api.call('GET', one, { token: key, headers })).toMatchObject({
      status: 200,
      body: { effectiveDeviceCount: 1 },
    })
  })

  test.each(['unknown', newId()])('404 for the id %s', async (groupId) => {
    const { path, key } = await newGroup()
    expect((await api.call('GET', `${path}/${groupId}`, { token: key })).status).toBe(404)
  })

  test('404 for the group of another organization under the path of the caller’s organization', async () => {
    const { created } = await newGroup()
    const { id, key } = await api.newOrganization()
    expect((await api.call('GET', `/orgs/${id}/groups/${created.body.id}`, { token: key })).status).toBe(404)
  })
})

describe('PATCH /orgs/:orgId/groups/:id', () => {
  test('200 changes only the fields that are sent', async () => {
    const { one, key } = await newGroup({ name: 'A', smartTags: ['bus'] })
    const renamed = await api.call('PATCH', one, { token: key, json: { name: 'B' } })
    expect(renamed).toMatchObject({ status: 200, body: { name: 'B', smartTags: ['bus'] } })
    const emptied = await api.call('PATCH', one, { token: key, json: { smartTags: [] } })
    expect(emptied).toMatchObject({ status: 200, body: { name: 'B', smartTags: [] } })
  })

  test('400 without a field to change', async () => {
    const { one, key } = await newGroup()
    expect((await api.call('PATCH', one, { token: key, json: {} })).status).toBe(400)
  })

  test('403 plan_feature after a downgrade, but tags can be removed', async () => {
    const { id, one, key } = await newGroup({ name: 'A', smartTags: ['bus'] })
    await setPlan(id, 'free')
    expect(await api.call('PATCH', one, { token: key, json: { smartTags: ['tram'] } })).toMatchObject({
      status: 403,
      body: { code: 'plan_feature' },
    })
    expect((await api.call('PATCH', one, { token: key, json: { smartTags: [] } })).status).toBe(200)
  })

  test('409 for the name of another group, 412 for an older ETag', async () => {
    const { path, one, key, created } = await newGroup({ name: 'A' })
    await api.call('POST', path, { token: key, json: { name: 'B' } })
    expect((await api.call('PATCH', one, { token: key, json: { name: 'B' } })).status).toBe(409)
    const headers = { 'if-match': String(created.headers.get('etag')) }
    expect((await api.call('PATCH', one, { token: key, json: { name: 'C' }, headers })).status).toBe(200)
    expect((await api.call('PATCH', one, { token: key, json: { name: 'D' }, headers })).status).toBe(412)
    expect((await api.call('DELETE', one, { token: key, headers })).status).toBe(412)
  })
})

describe('DELETE /orgs/:orgId/groups/:id', () => {
  test('204 without deleting the devices; then 404', async () => {
    const { id, one, key } = await newGroup()
    await seedDevices(api.services.pool, id, 2)
    expect((await api.call('DELETE', one, { token: key })).status).toBe(204)
    expect((await api.call('DELETE', one, { token: key })).status).toBe(404)
    const { rowCount } = await api.services.pool.query('SELECT 1 FROM device WHERE organization_id = $1', [id])
    expect(rowCount).toBe(2)
  })
})

describe('an id that does not exist', () => {
  const nobody = '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'
  const objects: [string, string, object?][] = [
    ['GET', `/groups/${nobody}`],
    ['PATCH', `/groups/${nobody}`, { name: 'A' }],
    ['DELETE', `/groups/${nobody}`],
    ['GET', `/groups/${nobody}/devices`],
    ['POST', `/groups/${nobody}/members`, { deviceIds: [nobody] }],
    ['DELETE', `/groups/${nobody}/members/${nobody}`],
    ['POST', `/groups/${nobody}/jobs`, { kind: 'reboot' }],
    ['GET', `/configs/${nobody}`],
    ['PATCH', `/configs/${nobody}`, { name: 'A' }],
    ['DELETE', `/configs/${nobody}`],
    ['GET', `/configs/${nobody}/versions`],
    ['POST', `/configs/${nobody}/apply`, { deviceIds: [nobody] }],
    ['GET', `/jobs/${nobody}`],
    ['POST', `/jobs/${nobody}/cancel`],
    ['POST', `/jobs/${nobody}/retry`],
    ['GET', `/job-batches/${nobody}`],
    ['POST', `/job-batches/${nobody}/pause`],
    ['POST', `/job-batches/${nobody}/retry`],
    ['DELETE', `/webhooks/${nobody}`],
  ]

  test.each(objects)('%s /orgs/:orgId%s is 404 before the missing scope is 403', async (method, path, json) => {
    const { id } = await api.newOrganization()
    const token = await api.newKey([id], ['org:read'])
    const answer = await api.call(method, `/orgs/${id}${path}`, { token, ...(json ? { json } : {}) })
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})
