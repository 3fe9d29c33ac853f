import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newDevice() {
  const { id, key } = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, id)
  const call = (method: string, path: string, token = key) =>
    api.call(method, `/devices/${deviceId}/${path}`, { token, ...(method === 'POST' ? { json: {} } : {}) })
  return { id, key, deviceId, call }
}

test('200 lists valid tokens without secrets, and 204 revokes one, with an audit row', async () => {
  const { id, deviceId, call } = await newDevice()
  expect((await call('GET', 'tokens')).body).toEqual({ items: [], nextCursor: null })
  const { token: first } = (await call('POST', 'token')).body
  const { token: second } = (await call('POST', 'token')).body
  const { status, body } = await call('GET', 'tokens')
  expect(status).toBe(200)
  expect(body.items).toMatchObject([{ expiresAt: null }, { expiresAt: expect.any(String) }])
  expect(second).toContain(`fld_${body.items[0].id}_`)
  expect(JSON.stringify(body)).not.toContain(first)
  expect((await call('DELETE', `tokens/${body.items[0].id}`)).status).toBe(204)
  expect((await call('GET', 'tokens')).body.items).toHaveLength(1)
  expect((await call('DELETE', `tokens/${body.items[0].id}`)).status).toBe(404)
  const { rows } = await api.services.pool.query(
    "SELECT detail FROM audit_entry WHERE organization_id = $1 AND subject_id = $2 AND action = 'device.token_revoked'",
    [id, deviceId],
  )
  expect(rows).toEqual([{ detail: { tokenId: body.items[0].id } }])
})

test('200 lists tokens in pages', async () => {
  const { call } = await newDevice()
  for (let count = 0; count < 3; count += 1) await call('POST', 'token')
  const whole = (await call('GET', 'tokens')).body
  expect(whole.items).toHaveLength(3)
  expect(whole.nextCursor).toBeNull()
  const first = (await call('GET', 'tokens?limit=2')).body
  const second = (await call('GET', `tokens?limit=2&cursor=${first.nextCursor}`)).body
  expect([...first.items, ...second.items]).toEqual(whole.items)
  expect(second.nextCursor).toBeNull()
})

test('403 without device:update; 404 for the token of another device', async () => {
  const [mine, other] = [await newDevice(), await newDevice()]
  await other.call('POST', 'token')
  const [{ id: tokenId }] = (await other.call('GET', 'tokens')).body.items
  expect((await mine.call('DELETE', `tokens/${tokenId}`)).status).toBe(404)
  expect((await other.call('DELETE', `tokens/${tokenId}`, await api.newKey([other.id], 'viewer'))).status).toBe(403)
})

test('groups can be listed by a device: explicit members and smart tags', async () => {
  const { id, key } = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, id, { tags: ['bus'] })
  const stranger = await registerDevice(api.services.pool, id)
  const post = (path: string, json: unknown) => api.call('POST', `/orgs/${id}/groups${path}`, { token: key, json })
  await post('', { name: 'Buses', smartTags: ['bus', 'tram'] })
  const { body: chosen } = await post('', { name: 'Chosen' })
  await post('', { name: 'Empty', smartTags: ['ship'] })
  await post(`/${chosen.id}/members`, { deviceIds: [deviceId] })
  const names = async (device: string) =>
    (await api.call('GET', `/orgs/${id}/groups?deviceId=${device}`, { token: key })).body.items.map(
      ({ name }: { name: string }) => name,
    )
  expect(await names(deviceId)).toEqual(['Chosen', 'Buses'])
  expect(await names(stranger)).toEqual([])
})
