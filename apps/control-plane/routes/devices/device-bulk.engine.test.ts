import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newFleet() {
  const organization = await api.newOrganization()
  const add = (name: string, facts: { tags?: string[]; status?: string } = {}) =>
    registerDevice(api.services.pool, organization.id, { name, ...facts })
  const ids = [
    await add('Bus 1', { tags: ['bus', 'night'] }),
    await add('Bus 2', { tags: ['bus'], status: 'offline' }),
    await add('Ship 1', { tags: ['ship'], status: 'disabled' }),
  ]
  const post = (path: string, json: unknown, token = organization.key) =>
    api.call('POST', `/orgs/${organization.id}/${path}`, { token, json })
  const tagsOf = async () => {
    const { rows } = await api.services.pool.query<{ tags: string[] }>(
      'SELECT tags FROM device WHERE organization_id = $1 ORDER BY id',
      [organization.id],
    )
    return rows.map(({ tags }) => tags)
  }
  return { ...organization, ids, post, tagsOf }
}

describe('GET /orgs/:orgId/device-counts', () => {
  test('200 counts all devices, and those of a filter', async () => {
    const { id, key } = await newFleet()
    const counts = async (query = '') =>
      (await api.call('GET', `/orgs/${id}/device-counts${query}`, { token: key })).body
    expect(await counts()).toEqual({
      total: 3,
      status: { online: 1, offline: 1, provisioning: 0, error: 0, disabled: 1 },
      models: [{ value: 'R1', devices: 3 }],
      firmware: [],
      tags: [
        { value: 'bus', devices: 2 },
        { value: 'night', devices: 1 },
        { value: 'ship', devices: 1 },
      ],
    })
    expect(await counts('?tag=bus&status=online')).toMatchObject({ total: 1 })
    expect(await counts('?q=SHIP')).toMatchObject({ total: 1, status: { disabled: 1 } })
    expect(await counts('?q=100%25')).toMatchObject({ total: 0 })
  })

  test('404 for a place of another organization, 403 for a place without fleet:read', async () => {
    const [mine, other] = [await newFleet(), await newFleet()]
    const area = { type: 'Circle', lat: 0, lon: 0, radiusM: 100 }
    const { body: place } = await other.post('places', { name: 'Depot', area })
    const counts = (org: string, token: string) =>
      api.call('GET', `/orgs/${org}/device-counts?placeId=${place.id}`, { token })
    expect((await counts(other.id, other.key)).body).toMatchObject({ total: 0 })
    expect((await counts(mine.id, mine.key)).status).toBe(404)
    expect((await counts(other.id, await api.newKey([other.id], ['device:read']))).status).toBe(403)
  })
})

describe('POST /orgs/:orgId/device-tags', () => {
  test('200 with dryRun counts as the change does, and changes nothing', async () => {
    const { post, tagsOf } = await newFleet()
    const before = await tagsOf()
    const change = { filter: { tag: ['bus'] }, add: ['blue'], remove: ['night'] }
    const planned = await post('device-tags?dryRun=true', change)
    expect(await tagsOf()).toEqual(before)
    const done = await post('device-tags', change)
    expect([planned.status, planned.body]).toEqual([200, done.body])
    expect(done.body).toEqual({ matched: 2, changed: 2, refused: 0 })
  })

  test('200 adds and removes tags of all matches, once each, with an audit row for each changed device', async () => {
    const { id, post, tagsOf } = await newFleet()
    const json = { filter: { tag: ['bus'] }, add: ['night', 'berlin'], remove: ['bus'] }
    expect(await post('device-tags', json)).toMatchObject({ status: 200, body: { matched: 2, changed: 2, refused: 0 } })
    expect(await tagsOf()).toEqual([['night', 'berlin'], ['night', 'berlin'], ['ship']])
    expect((await post('device-tags', { filter: {}, add: ['night'] })).body).toEqual({
      ...{ matched: 3, changed: 1, refused: 0 },
    })
    const { rows } = await api.services.pool.query(
      "SELECT actor, detail FROM audit_entry WHERE organization_id = $1 AND action = 'device.updated' ORDER BY id",
      [id],
    )
    expect(rows).toHaveLength(3)
    expect(rows[2]).toMatchObject({ actor: expect.stringMatching(/^key:/), detail: { tags: ['ship', 'night'] } })
  })

  test('200 changes chosen devices, and refuses more than 50 tags on one', async () => {
    const { ids, post, tagsOf } = await newFleet()
    const add = Array.from({ length: 49 }, (_, index) => `t${index}`)
    expect((await post('device-tags', { deviceIds: ids, add })).body).toEqual({ matched: 3, changed: 2, refused: 1 })
    expect((await tagsOf()).map((tags) => tags.length)).toEqual([2, 50, 50])
  })

  test('200 changes 12,000 devices in one request', async () => {
    const { id, key } = await api.newOrganization()
    await seedDevices(api.services.pool, id, 12_000)
    const json = { filter: {}, add: ['all'] }
    const answer = await api.call('POST', `/orgs/${id}/device-tags`, { token: key, json })
    expect(answer.body).toEqual({ matched: 12_000, changed: 12_000, refused: 0 })
    expect((await api.call('POST', `/orgs/${id}/device-tags`, { token: key, json })).body).toMatchObject({ changed: 0 })
  })

  test('400 without a selection or tags, 404 for a foreign device, 403 without device:update', async () => {
    const [mine, other] = [await newFleet(), await newFleet()]
    const wrong = [
      { add: ['a'] },
      { filter: {}, deviceIds: mine.ids, add: ['a'] },
      { filter: {} },
      { filter: { name: 'x' }, add: ['a'] },
      { filter: {}, add: ['a'], remove: ['a'] },
    ]
    for (const json of wrong) expect((await mine.post('device-tags', json)).status).toBe(400)
    const foreign = await mine.post('device-tags', { deviceIds: [...other.ids, newId()], add: ['a'] })
    expect(foreign).toMatchObject({ status: 404, body: { deviceIds: expect.arrayContaining(other.ids) } })
    const reader = await api.newKey([mine.id], 'viewer')
    expect((await mine.post('device-tags', { filter: {}, add: ['a'] }, reader)).status).toBe(403)
  })
})

describe('POST /orgs/:orgId/job-batches', () => {
  test('202 creates a job for each device that matches the filter, and skips disabled ones', async () => {
    const { id, key, ids, post } = await newFleet()
    const answer = await post('job-batches', { kind: 'reboot', filter: {}, rollout: { canary: 1 } })
    expect(answer).toMatchObject({
      status: 202,
      body: {
        ...{ kind: 'reboot', total: 2, target: { filter: {} } },
        skipped: [{ deviceId: ids[2], reason: 'device_disabled' }],
      },
    })
    const { body } = await api.call('GET', answer.headers.get('location') ?? '', { token: key })
    expect(body).toMatchObject({ id: answer.body.id, total: 2 })
    const some = await post('job-batches', { kind: 'speed_test', filter: { q: 'bus', status: 'offline' } })
    expect(some.body).toMatchObject({ total: 1, jobs: [{ deviceId: ids[1] }] })
    expect((await api.call('GET', `/orgs/${id}/job-batches`, { token: key })).body.items).toHaveLength(2)
  })

  test('202 for chosen devices; 400 without a selection; 404 for a foreign device', async () => {
    const [mine, other] = [await newFleet(), await newFleet()]
    const chosen = await mine.post('job-batches', { kind: 'reboot', deviceIds: mine.ids.slice(0, 1) })
    expect(chosen).toMatchObject({ status: 202, body: { total: 1, target: { deviceIds: mine.ids.slice(0, 1) } } })
    await mine.post('job-batches', { kind: 'reboot', deviceIds: mine.ids })
    const listed = (await api.call('GET', `/orgs/${mine.id}/job-batches`, { token: mine.key })).body.items
    expect(listed.map(({ target }: { target: unknown }) => target)).toEqual([
      { deviceCount: mine.ids.length, deviceId: null },
      { deviceCount: 1, deviceId: mine.ids[0] },
    ])
    expect((await mine.post('job-batches', { kind: 'reboot' })).status).toBe(400)
    expect((await mine.post('job-batches', { kind: 'reboot', deviceIds: other.ids })).status).toBe(404)
  })

  test('a profile can be applied to all matches of a filter', async () => {
    const { post } = await newFleet()
    const { body: profile } = await post('configs', { name: 'Base', settings: { apn: 'internet' } })
    const answer = await post(`configs/${profile.id}/apply`, { filter: { tag: ['bus'] } })
    expect(answer).toMatchObject({ status: 202, body: { kind: 'apply_config', total: 2 } })
    expect((await post(`configs/${profile.id}/apply`, { filter: {}, deviceIds: [newId()] })).status).toBe(400)
  })
})
