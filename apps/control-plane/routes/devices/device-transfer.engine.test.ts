import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

async function create(organization: Organization, serial = 'SN-1') {
  const json = { organizationId: organization.id, serial, name: 'Bus 42', model: 'RX-500', tags: ['bus'] }
  return (await api.call('POST', '/devices', { token: organization.key, json })).body
}
const transfer = (token: string, id: string, toOrgId: string, more = {}) =>
  api.call('POST', `/devices/${id}/transfer`, { token, json: { toOrgId, ...more } })

async function pair() {
  const [from, to] = [await api.newOrganization(), await api.newOrganization()]
  const mover = await api.newKey([from.id, to.id], ['device:transfer', 'device:read'])
  return { from, to, mover }
}

describe('POST /devices/:id/transfer', () => {
  test('200 moves the device with its quota and audit, without groups, jobs, token, profile and location', async () => {
    const { from, to, mover } = await pair()
    const { id } = await create(from)
    const group = await api.call('POST', `/orgs/${from.id}/groups`, { token: from.key, json: { name: 'All' } })
    await api.call('POST', `/orgs/${from.id}/groups/${group.body.id}/members`, {
      token: from.key,
      json: { deviceIds: [id] },
    })
    const { body: issued } = await api.call('POST', `/devices/${id}/token`, { token: from.key })
    expect(issued).toEqual({ token: expect.stringMatching(/^fld_/), expiresAt: null })
    await api.call('PATCH', `/devices/${id}`, { token: from.key, json: { notes: 'Key 14' } })
    await api.services.pool.query('UPDATE device SET last_lat = 1, last_lon = 2, last_fix_at = now() WHERE id = $1', [
      id,
    ])

    const answer = await transfer(mover, id, to.id, { reason: 'Sold' })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        id,
        organizationId: to.id,
        serial: 'SN-1',
        tags: ['bus'],
        status: 'provisioning',
        location: null,
        configProfile: null,
        notes: null,
      },
    })
    expect((await api.call('GET', `/devices/${id}`, { token: from.key })).status).toBe(404)
    const received = await api.call('GET', `/devices/${id}`, { token: to.key })
    expect(received).toMatchObject({ status: 200, body: { notes: null } })
    const counts =
      'SELECT (SELECT count(*)::int FROM device_token WHERE device_id = $1) AS tokens, (SELECT count(*)::int FROM device_group_member WHERE device_id = $1) AS memberships, (SELECT count(*)::int FROM device_ownership WHERE device_id = $1) AS intervals'
    expect((await api.services.pool.query(counts, [id])).rows[0]).toEqual({ tokens: 0, memberships: 0, intervals: 2 })
    for (const [organization, used] of [
      [from, 0],
      [to, 1],
    ] as const) {
      const usage = await api.call('GET', `/orgs/${organization.id}/usage`, { token: organization.key })
      expect(usage.body.devices.used).toBe(used)
      const audit = await api.call('GET', `/orgs/${organization.id}/audit?action=device.transferred`, {
        token: organization.key,
      })
      expect(audit.body.items[0].detail).toMatchObject({
        fromOrganizationId: from.id,
        toOrganizationId: to.id,
        reason: 'Sold',
      })
    }
  })

  test('400 without a destination', async () => {
    const { from, mover } = await pair()
    const { id } = await create(from)
    expect((await api.call('POST', `/devices/${id}/transfer`, { token: mover, json: {} })).status).toBe(400)
  })

  test('402 if the subscription of either organization is inactive', async () => {
    for (const side of ['from', 'to'] as const) {
      const organizations = await pair()
      const { id } = await create(organizations.from)
      const json = { plan: 'enterprise', status: 'suspended' }
      await api.call('PUT', `/orgs/${organizations[side].id}/subscription`, { token: api.platformKey, json })
      expect((await transfer(organizations.mover, id, organizations.to.id)).status).toBe(402)
    }
  })

  test('403 without the scope in the source or destination, and for an unknown destination', async () => {
    const { from, to, mover } = await pair()
    const { id } = await create(from)
    const nowhere = '00000000-0000-4000-8000-000000000000'
    const onlyTo = await api.newKey([from.id], ['device:read'])
    const answers = [
      await transfer(onlyTo, id, to.id),
      await transfer(from.key, id, to.id),
      await transfer(mover, id, nowhere),
      await transfer(api.platformKey, id, nowhere),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })

  test('403 device_quota_exceeded at a full destination, before 412 for a stale If-Match', async () => {
    const { from, to, mover } = await pair()
    const { id } = await create(from)
    const json = { plan: 'pro', status: 'active', deviceQuota: 0 }
    await api.call('PUT', `/orgs/${to.id}/subscription`, { token: api.platformKey, json })
    expect(await transfer(mover, id, to.id)).toMatchObject({
      status: 403,
      body: { code: 'device_quota_exceeded', limit: 0, used: 0 },
    })
    expect((await api.call('GET', `/devices/${id}`, { token: from.key })).status).toBe(200)
    const stale = { token: mover, json: { toOrgId: to.id }, headers: { 'if-match': '"7"' } }
    expect((await api.call('POST', `/devices/${id}/transfer`, stale)).status).toBe(403)
    const free = { plan: 'pro', status: 'active' }
    await api.call('PUT', `/orgs/${to.id}/subscription`, { token: api.platformKey, json: free })
    expect((await api.call('POST', `/devices/${id}/transfer`, stale)).status).toBe(412)
  })

  test('404 for a device of an organization that the caller cannot read', async () => {
    const { from, to } = await pair()
    const { id } = await create(from)
    expect((await transfer(to.key, id, to.id)).status).toBe(404)
  })

  test('409 same_organization and serial_taken', async () => {
    const { from, to, mover } = await pair()
    const { id } = await create(from)
    expect(await transfer(mover, id, from.id)).toMatchObject({ status: 409, body: { code: 'same_organization' } })
    await create(to)
    expect(await transfer(mover, id, to.id)).toMatchObject({ status: 409, body: { code: 'serial_taken' } })
    const usage = await api.call('GET', `/orgs/${to.id}/usage`, { token: to.key })
    expect(usage.body.devices.used).toBe(1)
    const other = await create(from, 'sn-2')
    await create(to, 'SN-2')
    expect(await transfer(mover, other.id, to.id)).toMatchObject({ status: 409, body: { code: 'serial_taken' } })
  })
})

describe('quota', () => {
  test('16 concurrent callers create exactly 100 devices with a quota of 100', async () => {
    const organization = await api.newOrganization()
    const json = { plan: 'pro', status: 'active', deviceQuota: 100 }
    await api.call('PUT', `/orgs/${organization.id}/subscription`, { token: api.platformKey, json })
    const creator = async (creatorNumber: number) => {
      let created = 0
      for (let n = 0; n < 10; ) {
        const device = { organizationId: organization.id, serial: `C${creatorNumber}-${n}`, name: 'R', model: 'M' }
        const answer = await api.call('POST', '/devices', { token: organization.key, json: device })
        // The connections of an organization are limited: on a busy machine, a request may wait too long for one.
        expect([201, 403, 429]).toContain(answer.status)
        if (answer.status === 201) created += 1
        if (answer.status !== 429) n += 1
      }
      return created
    }
    const created = await Promise.all(Array.from({ length: 16 }, (_, number) => creator(number)))
    expect(created.reduce((sum, count) => sum + count, 0)).toBe(100)
    const { rows } = await api.services.pool.query(
      'SELECT count(*)::int AS count FROM device WHERE organization_id = $1',
      [organization.id],
    )
    expect(rows[0].count).toBe(100)
  })
})
