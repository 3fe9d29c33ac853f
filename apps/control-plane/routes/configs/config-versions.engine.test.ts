import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadSettings } from '#fleet/config-profiles/secrets'
import { revealSecrets } from '#fleet/config-profiles/settings-tree'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { plansFileWith } from '#test/limited-plans'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane({ PLANS_FILE: await plansFileWith({ brief: { profileVersions: 3 } }) })
})
afterAll(() => api.close())

/** A profile with two versions, whose secrets differ. */
async function newProfile() {
  const { id: organizationId, key } = await api.newOrganization()
  const call = (method: string, path: string, json?: unknown, headers = {}) =>
    api.call(method, path, { token: key, headers, ...(json === undefined ? {} : { json }) })
  const settings = { wifi: { ssid: 'depot', password: 'first secret' } }
  const { body } = await call('POST', `/orgs/${organizationId}/configs`, { name: 'Depot', settings })
  const one = `/orgs/${organizationId}/configs/${body.id}`
  await call('PATCH', one, { name: 'Yard', settings: { wifi: { ssid: 'yard', password: 'second secret' } } })
  return { organizationId, profileId: body.id as string, key, call, one }
}

describe('POST /orgs/:orgId/configs/:id/roll-back', () => {
  test('200 creates a version with the content and the secrets of the earlier one', async () => {
    const { organizationId, profileId, call, one } = await newProfile()
    const { status, body, headers } = await call('POST', `${one}/roll-back`, { version: 1 })
    expect(status).toBe(200)
    expect(headers.get('etag')).toBe('"3"')
    expect(body).toMatchObject({ name: 'Depot', version: 3, settings: { wifi: { ssid: 'depot' } } })
    expect(JSON.stringify(body)).not.toContain('first secret')
    const { pool, keyring } = api.services
    const stored = await loadSettings(pool, keyring, { organizationId, profileId, version: 3 })
    expect(stored && revealSecrets(stored)).toEqual({ wifi: { ssid: 'depot', password: 'first secret' } })
    const versions = (await call('GET', `${one}/versions`)).body.items
    expect(versions.map(({ version, name }: { version: number; name: string }) => [version, name])).toEqual([
      [3, 'Depot'],
      [2, 'Yard'],
      [1, 'Depot'],
    ])
  })

  test('200 without a new version for the present one', async () => {
    const { call, one } = await newProfile()
    expect((await call('POST', `${one}/roll-back`, { version: 2 })).body.version).toBe(2)
  })

  test('404 for an unknown version, and 412 if the profile has changed', async () => {
    const { call, one } = await newProfile()
    expect((await call('POST', `${one}/roll-back`, { version: 9 })).status).toBe(404)
    expect((await call('POST', `${one}/roll-back`, { version: 1 }, { 'if-match': '"1"' })).status).toBe(412)
  })
})

describe('versions beyond the limit', () => {
  test('the oldest go; those that a device has or a batch can still deliver stay', async () => {
    const { organizationId, profileId, call, one } = await newProfile()
    const { pool } = api.services
    await pool.query("UPDATE organization SET plan = 'brief' WHERE id = $1", [organizationId])
    const [open, failed, has] = await seedDevices(pool, organizationId, 3)
    const change = (name: string) => call('PATCH', one, { name })
    const kept = async (): Promise<number[]> =>
      (await call('GET', `${one}/versions`)).body.items.map(({ version }: { version: number }) => version)

    await call('POST', `${one}/apply`, { deviceIds: [open] })
    await change('Version 3')
    const retryable = (await call('POST', `${one}/apply`, { deviceIds: [failed] })).body
    await call('POST', `/orgs/${organizationId}/job-batches/${retryable.id}/cancel`)
    await change('Version 4')
    await pool.query('UPDATE device SET config_profile_id = $2, config_profile_version = 4 WHERE id = $1', [
      has,
      profileId,
    ])
    for (let version = 5; version <= 9; version++) await change(`Version ${version}`)
    expect(await kept()).toEqual([9, 8, 7, 4, 3, 2])
    expect((await call('POST', `/orgs/${organizationId}/job-batches/${retryable.id}/retry`)).status).toBe(202)

    await pool.query(
      'UPDATE job_batch SET succeeded = total, queued = 0, cancelled = 0, finished_at = now() WHERE organization_id = $1',
      [organizationId],
    )
    await call('POST', `${one}/roll-back`, { version: 2 })
    expect(await kept()).toEqual([10, 9, 8, 4])
  })
})

describe('GET /orgs/:orgId/configs/:id/devices', () => {
  test('200 with the version of each device, and only those behind on request', async () => {
    const { organizationId, profileId, call, one } = await newProfile()
    const [current, behind] = await seedDevices(api.services.pool, organizationId, 3)
    const apply = (deviceId: string | undefined, version: number) =>
      api.services.pool.query('UPDATE device SET config_profile_id = $2, config_profile_version = $3 WHERE id = $1', [
        deviceId,
        profileId,
        version,
      ])
    await apply(current, 2)
    await apply(behind, 1)
    await call('POST', `${one}/apply`, { deviceIds: [behind] })
    const all = (await call('GET', `${one}/devices`)).body
    expect(all.counts).toEqual({ current: 1, behind: 1 })
    expect(all.items).toHaveLength(2)
    const old = (await call('GET', `${one}/devices?behind=true`)).body
    expect(old.items).toEqual([expect.objectContaining({ id: behind, appliedVersion: 1, pendingVersion: 2 })])
  })
})
