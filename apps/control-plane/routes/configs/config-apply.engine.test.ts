import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { storeAppliedProfile } from '#fleet/config-profiles/applied'
import { transaction } from '#postgres/pool'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newProfile(fields: Record<string, unknown> = {}) {
  const organization = await api.newOrganization()
  const configs = `/orgs/${organization.id}/configs`
  const json = { name: 'Depot', settings: { wifi: { password: 'correct horse' } }, ...fields }
  const { body } = await api.call('POST', configs, { token: organization.key, json })
  const apply = (json: unknown, token = organization.key, headers = {}) =>
    api.call('POST', `${configs}/${body.id}/apply`, { token, json, headers })
  const seed = (count: number, options = {}) => seedDevices(api.services.pool, organization.id, count, options)
  return { ...organization, configs, profile: body, one: `${configs}/${body.id}`, apply, seed }
}

describe('POST /orgs/:orgId/configs/:profileId/apply', () => {
  test('202 with one job for each device, pinned to the version, without the secret', async () => {
    const { apply, seed, profile, one, key } = await newProfile()
    const deviceIds = await seed(3)
    const answer = await apply({ deviceIds: [...deviceIds, deviceIds[0]] })
    expect(answer).toMatchObject({
      status: 202,
      body: {
        kind: 'apply_config',
        profile: { id: profile.id, version: 1 },
        total: 3,
        skipped: [],
        target: { deviceIds },
      },
    })
    expect(answer.body.jobs.map(({ deviceId }: { deviceId: string }) => deviceId).sort()).toEqual(deviceIds)
    expect(JSON.stringify(answer.body)).not.toContain('correct horse')
    const json = { name: 'Depot 2' }
    expect((await api.call('PATCH', one, { token: key, json })).body.version).toBe(2)
    const { rows } = await api.services.pool.query('SELECT profile_version FROM job_batch WHERE id = $1', [
      answer.body.id,
    ])
    expect(rows).toEqual([{ profile_version: 1 }])
  })

  test('200 with dryRun says what changes on each device, in pages and without secrets', async () => {
    const wifi = {
      ssid: { $var: 'device.serial' },
      password: 'correct horse',
      channel: { $var: 'channel', default: 6 },
    }
    const { apply, seed, one, key, id } = await newProfile({ settings: { wifi } })
    const deviceIds = await seed(3)
    const [first = '', second = ''] = deviceIds
    const set = { variables: { channel: 11 } }
    expect((await api.call('PUT', `/devices/${second}/variables`, { token: key, json: set })).status).toBe(200)
    const plan = (query: string, token = key) =>
      api.call('POST', `${one}/apply?dryRun=true${query}`, { token, json: { deviceIds } })
    const whole = (await plan('')).body
    expect(whole).toMatchObject({ total: 3, nextCursor: null })
    expect(whole.devices.map(({ deviceId }: { deviceId: string }) => deviceId)).toEqual([...deviceIds].sort())
    const serial = (await api.call('GET', `/devices/${second}`, { token: key })).body.serial
    expect(whole.devices.find(({ deviceId }: { deviceId: string }) => deviceId === second).differences).toEqual([
      { path: '/wifi', desired: { channel: 11, ssid: serial }, reported: null },
    ])
    expect(JSON.stringify(whole)).not.toContain('correct horse')

    const pages = [(await plan('&limit=2')).body]
    pages.push((await plan(`&limit=2&cursor=${pages[0].nextCursor}`)).body)
    expect(pages.flatMap(({ devices }) => devices)).toEqual(whole.devices)
    expect(pages[1]).toMatchObject({ total: 3, nextCursor: null })

    // What was applied last counts for devices that do not report.
    const { body: batch } = await apply({ deviceIds: [first] })
    const applied = { id: batch.jobs[0].id, organizationId: id, deviceId: first, batchId: batch.id }
    await transaction(api.services.pool, (connection) => storeAppliedProfile(connection, applied))
    await api.call('PATCH', one, { token: key, json: { settings: { wifi: { ...wifi, channel: 1 } } } })
    const changed = (await plan('')).body.devices.find(({ deviceId }: { deviceId: string }) => deviceId === first)
    expect(changed.differences).toEqual([{ path: '/wifi/channel', desired: 1, reported: 6 }])

    const blind = await api.newKey([id], ['config:apply', 'device:read'])
    expect((await plan('', blind)).body).toMatchObject({ total: 3, devices: null, nextCursor: null })
    expect((await plan('&limit=101')).status).toBe(400)
    expect((await plan('&cursor=other')).status).toBe(400)
  })

  test('202 for a group, skipping disabled devices and other models', async () => {
    const { id, key, apply, seed } = await newProfile({ model: 'RX400' })
    const { body: group } = await api.call('POST', `/orgs/${id}/groups`, {
      token: key,
      json: { name: 'Buses', smartTags: ['bus'] },
    })
    const [able] = await seed(1, { tags: ['bus'] })
    const [disabled] = await seed(1, { tags: ['bus'] })
    const [other] = await seed(1, { tags: ['bus'], model: 'RX900' })
    await api.call('PATCH', `/devices/${disabled}`, { token: key, json: { status: 'disabled' } })
    const { status, body } = await apply({ groupId: group.id })
    expect(status).toBe(202)
    expect(body).toMatchObject({ total: 1, jobs: [{ deviceId: able }] })
    expect(body.skipped).toHaveLength(2)
    expect(body.skipped).toEqual(
      expect.arrayContaining([
        { deviceId: disabled, reason: 'device_disabled' },
        { deviceId: other, reason: 'model_mismatch' },
      ]),
    )
  })

  test('400 for both targets, no target, an empty list and more than 10,000 devices', async () => {
    const { apply } = await newProfile()
    const tooMany = Array.from({ length: 10_001 }, () => randomUUID())
    for (const json of [
      { deviceIds: [newId()], groupId: newId() },
      {},
      { deviceIds: [] },
      { deviceIds: tooMany },
      { groupId: newId(), expiresInSeconds: 0 },
    ]) {
      expect(await apply(json)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    }
  })

  test('402 under a suspended subscription', async () => {
    const { id, apply, seed } = await newProfile()
    const deviceIds = await seed(1)
    await api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [id])
    expect(await apply({ deviceIds })).toMatchObject({ status: 402, body: { code: 'subscription_inactive' } })
  })

  test('403 without config:apply', async () => {
    const { id, apply, seed } = await newProfile()
    const token = await api.newKey([id], ['config:write', 'config:read', 'job:create'])
    expect((await apply({ deviceIds: await seed(1) }, token)).status).toBe(403)
  })

  test('404 for an unknown or foreign profile, group or device', async () => {
    const { apply, configs, key, seed } = await newProfile()
    const stranger = await newProfile()
    const own = await seed(1)
    const [foreign] = await stranger.seed(1)
    expect(await apply({ deviceIds: [...own, foreign] })).toMatchObject({ status: 404, body: { deviceIds: [foreign] } })
    expect((await apply({ groupId: newId() })).status).toBe(404)
    expect((await apply({ deviceIds: own }, stranger.key)).status).toBe(404)
    const json = { deviceIds: own }
    for (const profileId of [newId(), stranger.profile.id, 'nonsense']) {
      expect((await api.call('POST', `${configs}/${profileId}/apply`, { token: key, json })).status).toBe(404)
    }
    const { rowCount } = await api.services.pool.query('SELECT 1 FROM job WHERE device_id = ANY ($1)', [
      [...own, foreign],
    ])
    expect(rowCount).toBe(0)
  })

  test('the same Idempotency-Key creates one batch', async () => {
    const { apply, seed, key } = await newProfile()
    const json = { deviceIds: await seed(2) }
    const headers = { 'idempotency-key': randomUUID() }
    const first = await apply(json, key, headers)
    const second = await apply(json, key, headers)
    expect(second).toMatchObject({ status: 202, body: { id: first.body.id } })
    expect(await apply({ deviceIds: [newId()] }, key, headers)).toMatchObject({ status: 422 })
  })

  test('409 profile_in_use for deleting the profile until its jobs have ended', async () => {
    const { apply, seed, one, key } = await newProfile()
    const [device] = await seed(1)
    await apply({ deviceIds: [device] })
    expect(await api.call('DELETE', one, { token: key })).toMatchObject({
      status: 409,
      body: { code: 'profile_in_use' },
    })
    expect((await api.call('DELETE', `/devices/${device}`, { token: key })).status).toBe(204)
    expect((await api.call('DELETE', one, { token: key })).status).toBe(204)
  })

  test('409 profile_gone for a retry and a resumption when the version no longer exists', async () => {
    const { id, apply, seed, profile, key } = await newProfile()
    const batch = (await apply({ deviceIds: await seed(2) })).body
    const post = (path: string) => api.call('POST', `/orgs/${id}/${path}`, { token: key })
    const [jobId, openJobId] = batch.jobs.map((job: { id: string }) => job.id)
    expect((await post(`jobs/${jobId}/cancel`)).status).toBe(200)
    expect((await post(`job-batches/${batch.id}/pause`)).status).toBe(200)
    await api.services.pool.query('DELETE FROM config_profile_version WHERE profile_id = $1', [profile.id])
    const gone = { status: 409, body: { code: 'profile_gone', detail: expect.stringContaining('“Depot”') } }
    for (const path of [`jobs/${jobId}/retry`, `job-batches/${batch.id}/retry`, `job-batches/${batch.id}/resume`])
      expect(await post(path)).toMatchObject(gone)
    expect(await post(`jobs/${openJobId}/retry`)).toMatchObject({ body: { code: 'job_not_retryable' } })
  })
})
