import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newOrganization() {
  const { id, key } = await api.newOrganization()
  const [anna, ben] = [await api.newKey([id], 'viewer'), await api.newKey([id], 'viewer')]
  const call = (method: string, token: string, path = '', json?: unknown) =>
    api.call(method, `/orgs/${id}/views${path}`, { token, ...(json === undefined ? {} : { json }) })
  const names = async (token: string) => (await call('GET', token)).body.items.map(({ name }: { name: string }) => name)
  return { id, key, anna, ben, call, names }
}

test('201 and 200: a view is its author’s own, unless it is shared', async () => {
  const { id, ben, call, names } = await newOrganization()
  const anna = await api.newKey([id], ['fleet:read', 'org:write'])
  const own = await call('POST', anna, '', { name: 'Mine', place: 'map?tag=truck&metric=sinr' })
  expect([own.status, own.body]).toMatchObject([201, { name: 'Mine', shared: false, isOwn: true }])
  await call('POST', anna, '', { name: 'Ours', place: 'map?group=x', shared: true })
  expect(await names(anna)).toEqual(['Ours', 'Mine'])
  expect(await names(ben)).toEqual(['Ours'])
  expect((await call('GET', ben)).body.items[0]).toMatchObject({ place: 'map?group=x', isOwn: false })
})

test('204 for the author and, if it is shared, for an administrator; 404 for others', async () => {
  const { id, key, ben, call, names } = await newOrganization()
  const anna = await api.newKey([id], ['fleet:read', 'org:write'])
  const save = async (shared: boolean) =>
    (await call('POST', anna, '', { name: 'View', place: 'map', shared })).body.id as string
  const [own, shared] = [await save(false), await save(true)]
  expect((await call('DELETE', ben, `/${own}`)).status).toBe(404)
  expect((await call('DELETE', ben, `/${shared}`)).status).toBe(404)
  expect((await call('DELETE', key, `/${own}`)).status).toBe(404)
  expect((await call('DELETE', key, `/${shared}`)).status).toBe(204)
  expect((await call('DELETE', anna, `/${own}`)).status).toBe(204)
  expect(await names(anna)).toEqual([])
})

test('403 for a shared view without org:write; an author without it may still delete its shared view', async () => {
  const { anna, call, names } = await newOrganization()
  const refused = await call('POST', anna, '', { name: 'Ours', place: 'map', shared: true })
  expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  expect(refused.body.detail).toContain('org:write')
  expect(await names(anna)).toEqual([])
  // A view that was shared before this scope was necessary.
  const { id: viewId } = (await call('POST', anna, '', { name: 'Mine', place: 'map' })).body
  await api.services.pool.query('UPDATE saved_view SET shared = true WHERE id = $1', [viewId])
  expect((await call('DELETE', anna, `/${viewId}`)).status).toBe(204)
})

test('400 for an address that is no view', async () => {
  const { anna, call } = await newOrganization()
  for (const place of ['https://example.com', '//evil', 'map?a b', '']) {
    expect((await call('POST', anna, '', { name: 'View', place })).status).toBe(400)
  }
})
