import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const create = (token: string, organizationId: string, more = {}, key = 'k-1') =>
  api.call('POST', '/devices', {
    token,
    json: { organizationId, serial: 'SN-1', name: 'R', model: 'M', ...more },
    headers: { 'idempotency-key': key },
  })
const count = async (organizationId: string) =>
  (
    await api.services.pool.query('SELECT count(*)::int AS count FROM device WHERE organization_id = $1', [
      organizationId,
    ])
  ).rows[0].count

describe('Idempotency-Key', () => {
  test('replays the first response with its headers and Idempotency-Replayed', async () => {
    const { id, key } = await api.newOrganization()
    const first = await create(key, id)
    const again = await create(key, id)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(await count(id)).toBe(1)
  })

  test('compares bodies as parsed JSON: another order is equal, another value returns 422', async () => {
    const { id, key } = await api.newOrganization()
    const first = await create(key, id)
    const reordered = { model: 'M', name: 'R', serial: 'SN-1', organizationId: id }
    const headers = { 'idempotency-key': 'k-1' }
    expect(await api.call('POST', '/devices', { token: key, json: reordered, headers })).toMatchObject({
      status: 201,
      body: first.body,
    })
    expect(await create(key, id, { name: 'Other' })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
  })

  test('stores no hash from which a PIN could be guessed, and accepts the hash of earlier versions', async () => {
    const { id, key } = await api.newOrganization()
    const json = { name: 'Depot', settings: { pin: '1234' } }
    const post = () =>
      api.call('POST', `/orgs/${id}/configs`, { token: key, json, headers: { 'idempotency-key': 'k-pin' } })
    const first = await post()
    expect(first.status).toBe(201)
    // Query and body with sorted keys, as records of earlier versions have them.
    const plainHash = createHash('sha256')
      .update(JSON.stringify([{}, json]))
      .digest()
    const { rowCount: guessed } = await api.services.pool.query(
      'SELECT FROM idempotency_record WHERE request_hash = $1',
      [plainHash],
    )
    expect(guessed).toBe(0)

    const { rowCount: changed } = await api.services.pool.query(
      "UPDATE idempotency_record SET request_hash = $1 WHERE response ->> 'id' = $2",
      [plainHash, first.body.id],
    )
    expect(changed).toBe(1)
    expect(await post()).toMatchObject({ status: 201, body: { id: first.body.id } })
  })

  test('belongs to one caller and one path', async () => {
    const { id, key } = await api.newOrganization()
    const { body } = await create(key, id)
    const colleague = await api.newKey([id], 'admin')
    expect(await create(colleague, id)).toMatchObject({ status: 409, body: { code: 'serial_taken' } })
    const group = (path: string) =>
      api.call('POST', path, { token: key, json: { name: 'All' }, headers: { 'idempotency-key': 'k-1' } })
    expect((await group(`/orgs/${id}/groups`)).status).toBe(201)
    expect(body.id).toBeDefined()
  })

  test('a caller that lost its access gets no stored response', async () => {
    const [home, other] = [await api.newOrganization(), await api.newOrganization()]
    const { body: shared } = await api.call('POST', `/orgs/${home.id}/api-keys`, {
      token: api.platformKey,
      json: { name: 'Both', role: 'admin', alsoIn: [{ organizationId: other.id, role: 'admin' }] },
    })
    const post = (path: string, json: unknown) =>
      api.call('POST', `/orgs/${other.id}/${path}`, { token: shared.key, json, headers: { 'idempotency-key': 'k-1' } })
    const requests: [path: string, json: unknown][] = [
      ['groups', { name: 'All' }],
      ['configs', { name: 'Depot', settings: {} }],
      ['api-keys', { name: 'Reader', role: 'viewer' }],
      ['tool-calls', { tool: 'device_signal' }],
    ]
    for (const [path, json] of requests) expect((await post(path, json)).status).toBeLessThan(300)
    expect((await post('groups', { name: 'All' })).headers.get('idempotency-replayed')).toBe('true')

    const removed = await api.call('DELETE', `/orgs/${other.id}/api-keys/${shared.id}`, { token: other.key })
    expect(removed.status).toBe(204)
    await expect.poll(async () => (await post('groups', { name: 'All' })).status, { timeout: 10_000 }).toBe(404)
    for (const [path, json] of requests) expect((await post(path, json)).status).toBe(404)
    expect((await post('groups', { name: 'Other' })).status).toBe(404)
  })

  test('stores no errors, so that a request can be retried after a correction', async () => {
    const { id, key } = await api.newOrganization()
    const suspend = (status: string) =>
      api.services.pool.query('UPDATE organization SET subscription_status = $2 WHERE id = $1', [id, status])
    await suspend('suspended')
    expect((await create(key, id)).status).toBe(402)
    await suspend('active')
    expect((await create(key, id)).status).toBe(201)
  })

  test('16 concurrent requests create one device: one returns 201, the others the same response or 409', async () => {
    const { id, key } = await api.newOrganization()
    const answers = await Promise.all(Array.from({ length: 16 }, () => create(key, id)))
    const made = answers.filter(({ status }) => status === 201)
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1)
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    }
    expect(await count(id)).toBe(1)
  })

  test('400 for a key that is too long or not visible ASCII', async () => {
    const { id, key } = await api.newOrganization()
    for (const bad of ['x'.repeat(256), 'a b']) {
      expect(await create(key, id, {}, bad)).toMatchObject({ status: 400, body: { code: 'invalid_idempotency_key' } })
    }
  })
})
