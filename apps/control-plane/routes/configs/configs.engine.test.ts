import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const redacted = { $secret: { set: true, updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) } }
const settings = { wifi: { ssid: 'depot', password: 'correct horse' }, apn: { user: { $secret: 'bob' } } }

async function newProfile(plan = 'free') {
  const organization = await api.newOrganization({ plan })
  const path = `/orgs/${organization.id}/configs`
  const created = await api.call('POST', path, { token: organization.key, json: { name: 'Depot', settings } })
  return { ...organization, path, created, one: `${path}/${created.body.id}` }
}

const suspend = (organizationId: string) =>
  api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [organizationId])

describe('POST /orgs/:orgId/configs', () => {
  test('201 creates version 1 with its secrets redacted, with Location and ETag', async () => {
    const { created, path, one, key } = await newProfile()
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Depot',
      description: null,
      model: null,
      settings: { wifi: { ssid: 'depot', password: redacted }, apn: { user: redacted } },
      version: 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`)
    expect(created.headers.get('etag')).toBe('"1"')
    expect((await api.call('GET', one, { token: key })).body).toEqual(created.body)
  })

  test.each([
    ['settings that are no object', { name: 'A', settings: [] }, 'invalid_request'],
    [
      'settings that are too deep',
      { name: 'A', settings: JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) },
      'settings_too_deep',
    ],
    ['settings over 64 KiB', { name: 'A', settings: { a: 'x'.repeat(70_000) } }, 'settings_too_large'],
    ['settings far over 64 KiB', { name: 'A', settings: { a: Array(200_000).fill(1) } }, 'settings_too_large'],
    ['a key of 257 characters', { name: 'A', settings: { ['k'.repeat(257)]: 1 } }, 'invalid_settings'],
    ['a key of 200,000 digits', { name: 'A', settings: { ['1'.repeat(200_000)]: 1 } }, 'settings_too_large'],
    [
      'a redaction where no secret is set',
      { name: 'A', settings: { pin: { $secret: { set: true } } } },
      'secret_not_set',
    ],
    ['an unknown field', { name: 'A', settings: {}, colour: 'red' }, 'invalid_request'],
    ['a name with a control character', { name: 'A\u0007', settings: {} }, 'invalid_request'],
  ])('400 for %s', async (_, json, code) => {
    const { id, key } = await api.newOrganization()
    const answer = await api.call('POST', `/orgs/${id}/configs`, { token: key, json })
    expect(answer).toMatchObject({ status: 400, body: { code } })
  })

  test('404 and 403 come before the settings are parsed', async () => {
    const { id } = await api.newOrganization()
    const stranger = await api.newOrganization()
    const reader = await api.newKey([id], ['config:read'])
    const json = { name: 'A', settings: { pin: { $secret: { set: true } } } }
    expect((await api.call('POST', `/orgs/${id}/configs`, { token: stranger.key, json })).status).toBe(404)
    expect((await api.call('POST', `/orgs/${id}/configs`, { token: reader, json })).status).toBe(403)
  })

  test('402 when the subscription is suspended, also for the platform; reads work', async () => {
    const { id, key, path, one } = await newProfile()
    await suspend(id)
    for (const token of [key, api.platformKey]) {
      const json = { name: 'B', settings: {} }
      expect(await api.call('POST', path, { token, json })).toMatchObject({
        status: 402,
        body: { code: 'subscription_inactive' },
      })
      expect((await api.call('PATCH', one, { token, json })).status).toBe(402)
      expect((await api.call('DELETE', one, { token })).status).toBe(402)
      expect((await api.call('GET', one, { token })).status).toBe(200)
    }
  })

  test('403 without config:write, 404 for another organization’s key', async () => {
    const { id, path } = await newProfile()
    const json = { name: 'B', settings: {} }
    const reader = await api.newKey([id], ['config:read'])
    expect((await api.call('POST', path, { token: reader, json })).status).toBe(403)
    const { key: stranger } = await api.newOrganization()
    expect((await api.call('POST', path, { token: stranger, json })).status).toBe(404)
  })

  test('201 for the same Idempotency-Key, from a record without the secret', async () => {
    const { id, key } = await api.newOrganization()
    const canary = `canary-${randomUUID()}`
    const headers = { 'idempotency-key': randomUUID() }
    const json = { name: 'A', settings: { pin: canary } }
    const post = () => api.call('POST', `/orgs/${id}/configs`, { token: key, json, headers })
    const [first, second] = [await post(), await post()]
    expect(second).toMatchObject({ status: 201, body: first.body })
    expect(second.headers.get('idempotency-replayed')).toBe('true')
  })
})

describe('GET /orgs/:orgId/configs', () => {
  test('200 lists newest first, in pages without repeated or skipped items', async () => {
    const { id, key } = await api.newOrganization()
    const path = `/orgs/${id}/configs`
    for (const name of ['a', 'b', 'c']) await api.call('POST', path, { token: key, json: { name, settings } })
    const first = await api.call('GET', `${path}?limit=2`, { token: key })
    expect(first.body.items.map((item: { name: string }) => item.name)).toEqual(['c', 'b'])
    expect(first.body.items[0].settings.wifi.password).toEqual(redacted)
    const second = await api.call('GET', `${path}?limit=2&cursor=${first.body.nextCursor}`, { token: key })
    expect(second.body.items.map((item: { name: string }) => item.name)).toEqual(['a'])
    expect(second.body.nextCursor).toBeNull()
  })

  test('403 without config:read, 404 for an organization that does not exist', async () => {
    const { id } = await api.newOrganization()
    const writer = await api.newKey([id], ['config:write'])
    expect((await api.call('GET', `/orgs/${id}/configs`, { token: writer })).status).toBe(403)
    expect((await api.call('GET', `/orgs/${newId()}/configs`, { token: api.platformKey })).status).toBe(404)
  })
})

describe('GET /orgs/:orgId/configs/:id', () => {
  test('304 for the current ETag', async () => {
    const { one, key } = await newProfile()
    const answer = await api.call('GET', one, { token: key, headers: { 'if-none-match': '"1"' } })
    expect(answer).toMatchObject({ status: 304, body: '' })
  })

  test.each(['unknown', newId()])('404 for the id %s', async (profileId) => {
    const { path, key } = await newProfile()
    expect((await api.call('GET', `${path}/${profileId}`, { token: key })).status).toBe(404)
  })

  test('404 for the profile of another organization under the path of the caller’s organization', async () => {
    const { created } = await newProfile()
    const { id, key } = await api.newOrganization()
    expect((await api.call('GET', `/orgs/${id}/configs/${created.body.id}`, { token: key })).status).toBe(404)
  })
})

describe('PATCH /orgs/:orgId/configs/:id', () => {
  test('200 merges settings into a new version and keeps secrets that are sent back', async () => {
    const { one, key, created } = await newProfile()
    const json = {
      model: 'RX400',
      settings: { wifi: { ssid: 'depot-2', password: created.body.settings.wifi.password }, apn: { user: null } },
    }
    const changed = await api.call('PATCH', one, { token: key, json })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Depot', model: 'RX400', version: 2 } })
    expect(changed.body.settings).toEqual({
      wifi: { ssid: 'depot-2', password: created.body.settings.wifi.password },
      apn: {},
    })
    expect(changed.headers.get('etag')).toBe('"2"')
    const versions = await api.call('GET', `${one}/versions`, { token: key })
    expect(versions.body.items).toMatchObject([{ version: 2 }, { version: 1, settings: created.body.settings }])
  })

  test('200 without a new version if nothing changes', async () => {
    const { one, key, created } = await newProfile()
    const json = { name: 'Depot', settings: created.body.settings }
    expect(await api.call('PATCH', one, { token: key, json })).toMatchObject({ status: 200, body: created.body })
  })

  test('400 for an empty change, and for a redaction without a stored secret', async () => {
    const { one, key } = await newProfile()
    expect((await api.call('PATCH', one, { token: key, json: {} })).status).toBe(400)
    const json = { settings: { wifi: { psk: { $secret: { set: true } } } } }
    expect(await api.call('PATCH', one, { token: key, json })).toMatchObject({
      status: 400,
      body: { code: 'secret_not_set', errors: [{ pointer: '/settings/wifi/psk' }] },
    })
  })

  test('412 if If-Match has an older version', async () => {
    const { one, key } = await newProfile()
    const headers = { 'if-match': '"1"' }
    expect((await api.call('PATCH', one, { token: key, json: { name: 'B' }, headers })).status).toBe(200)
    const stale = await api.call('PATCH', one, { token: key, json: { name: 'C' }, headers })
    expect(stale).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
    expect((await api.call('DELETE', one, { token: key, headers })).status).toBe(412)
  })

  test('concurrent changes create one version each', async () => {
    const { one, key } = await newProfile()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const answers = await Promise.all(names.map((name) => api.call('PATCH', one, { token: key, json: { name } })))
    expect(answers.map(({ body }) => body.version).sort()).toEqual([2, 3, 4, 5, 6, 7])
  })
})

describe('DELETE /orgs/:orgId/configs/:id', () => {
  test('204 and then 404', async () => {
    const { one, key } = await newProfile()
    expect(await api.call('DELETE', one, { token: key })).toMatchObject({ status: 204, body: '' })
    expect((await api.call('DELETE', one, { token: key })).status).toBe(404)
  })
})
