import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newGroup(smartTags: string[] = [], plan = 'pro') {
  const organization = await api.newOrganization({ plan })
  const groups = `/orgs/${organization.id}/groups`
  const json = { name: 'Night buses', smartTags }
  const { body } = await api.call('POST', groups, { token: organization.key, json })
  const seed = (count: number, tags: string[] = []) => seedDevices(api.services.pool, organization.id, count, { tags })
  const add = (deviceIds: unknown, token = organization.key) =>
    api.call('POST', `${groups}/${body.id}/members`, { token, json: { deviceIds } })
  return { ...organization, one: `${groups}/${body.id}`, seed, add }
}

const setOrganization = (id: string, change: string) =>
  api.services.pool.query(`UPDATE organization SET ${change} WHERE id = $1`, [id])

describe('POST /orgs/:orgId/groups/:id/members', () => {
  test('200 counts new and present members; an id sent twice counts once', async () => {
    const { one, key, seed, add } = await newGroup()
    const [first, second, third] = await seed(3)
    expect(await add([first, second])).toMatchObject({ status: 200, body: { added: 2, alreadyMembers: 0 } })
    const again = [second, String(third).toUpperCase(), third]
    expect(await add(again)).toMatchObject({ status: 200, body: { added: 1, alreadyMembers: 1 } })
    expect((await api.call('GET', one, { token: key })).body).toMatchObject({ explicitDeviceCount: 3 })
    const often = Array.from({ length: 1_001 }, () => first)
    expect(await add(often)).toMatchObject({ status: 200, body: { added: 0, alreadyMembers: 1 } })
  })

  test('400 for no ids, more than 1,000 ids and an invalid id', async () => {
    const { add } = await newGroup()
    for (const deviceIds of [[], Array.from({ length: 1_001 }, () => newId()), ['nonsense'], undefined]) {
      expect((await add(deviceIds)).status).toBe(400)
    }
  })

  test('402 for adding and removing under a suspended subscription', async () => {
    const { id, one, key, seed, add } = await newGroup()
    const [device] = await seed(1)
    await add([device])
    await setOrganization(id, "subscription_status = 'suspended'")
    expect((await add([device])).status).toBe(402)
    expect((await api.call('DELETE', `${one}/members/${device}`, { token: key })).status).toBe(402)
  })

  test('403 without group:write', async () => {
    const { id, seed, add } = await newGroup()
    expect((await add(await seed(1), await api.newKey([id], ['group:read']))).status).toBe(403)
  })

  test('404 lists unknown devices and those of other organizations, and adds none', async () => {
    const { one, key, seed, add } = await newGroup()
    const [own] = await seed(1)
    const [foreign] = await (await newGroup()).seed(1)
    const unknown = newId()
    const answer = await add([own, foreign, unknown])
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', deviceIds: [foreign, unknown] } })
    expect((await api.call('GET', one, { token: key })).body).toMatchObject({ explicitDeviceCount: 0 })
  })

  test('404 for a group of another organization', async () => {
    const { one } = await newGroup()
    const { key, seed } = await newGroup()
    const json = { deviceIds: await seed(1) }
    expect((await api.call('POST', `${one}/members`, { token: key, json })).status).toBe(404)
  })
})

describe('GET /orgs/:orgId/groups/:id/devices', () => {
  test('200 lists each effective member once with its membership, in pages, newest first', async () => {
    const { one, key, seed, add } = await newGroup(['bus', 'night'])
    const [explicit = ''] = await seed(1)
    const [both = ''] = await seed(1, ['night', 'bus'])
    const tagged = await seed(3, ['bus'])
    await seed(2, ['tram'])
    await add([explicit, both])
    const seen: [string, string][] = []
    let path = `${one}/devices?limit=2`
    for (;;) {
      const { body } = await api.call('GET', path, { token: key })
      for (const item of body.items) seen.push([item.id, item.membership])
      if (body.nextCursor === null) break
      path = `${one}/devices?limit=2&cursor=${body.nextCursor}`
    }
    expect(seen).toEqual([...tagged.reverse().map((id) => [id, 'smartTag']), [both, 'both'], [explicit, 'explicit']])
  })

  test('200 without notes, which need device:read', async () => {
    const { id, one, key, seed } = await newGroup(['bus'])
    const [device] = await seed(1, ['bus'])
    await api.call('PATCH', `/devices/${device}`, { token: key, json: { notes: 'Key 14' } })
    const reader = await api.newKey([id], ['group:read'])
    const { body } = await api.call('GET', `${one}/devices`, { token: reader })
    expect(body.items).toMatchObject([{ id: device }])
    expect(JSON.stringify(body)).not.toContain('Key 14')
  })

  test('200 with explicit members only after a downgrade', async () => {
    const { id, one, key, seed, add } = await newGroup(['bus'])
    const [device] = await seed(2, ['bus'])
    await add([device])
    await setOrganization(id, "plan = 'free'")
    const { body } = await api.call('GET', `${one}/devices`, { token: key })
    expect(body.items).toMatchObject([{ id: device, membership: 'explicit' }])
  })

  test('403 without group:read, 404 for a group that does not exist', async () => {
    const { id, one, key } = await newGroup()
    const token = await api.newKey([id], ['device:read'])
    expect((await api.call('GET', `${one}/devices`, { token })).status).toBe(403)
    expect((await api.call('GET', `/orgs/${id}/groups/${newId()}/devices`, { token: key })).status).toBe(404)
  })
})

describe('DELETE /orgs/:orgId/groups/:id/members/:deviceId', () => {
  test('204, and 404 if the device is not an explicit member, even if a smart tag matches', async () => {
    const { one, key, seed, add } = await newGroup(['bus'])
    const [device] = await seed(1, ['bus'])
    await add([device])
    const remove = () => api.call('DELETE', `${one}/members/${device}`, { token: key })
    expect((await remove()).status).toBe(204)
    expect((await remove()).status).toBe(404)
    expect((await api.call('GET', one, { token: key })).body).toMatchObject({ effectiveDeviceCount: 1 })
    expect((await api.call('DELETE', `${one}/members/nonsense`, { token: key })).status).toBe(404)
  })

  test('a deleted device is removed from its groups', async () => {
    const { one, key, seed, add } = await newGroup()
    const [device] = await seed(1)
    await add([device])
    expect((await api.call('DELETE', `/devices/${device}`, { token: key })).status).toBe(204)
    expect((await api.call('GET', one, { token: key })).body).toMatchObject({ effectiveDeviceCount: 0 })
  })
})
