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
  const { anna, ben, call, names } = await newOrganization()
  const own = await call('POST', anna, '', { name: 'Mine', place: 'map?tag=truck&metric=sinr' })
  expect([own.status, own.body]).toMatchObject([201, { name: 'Mine', shared: false, isOwn: true }])
  await call('POST', anna, '', { name: 'Ours', place: 'map?group=x', shared: true })
  expect(await names(anna)).toEqual(['Ours', 'Mine'])
  expect(await names(ben)).toEqual(['Ours'])
  expect((await call('GET', ben)).body.items[0]).toMatchObject({ place: 'map?group=x', isOwn: false })
})

test('204 for the author and, if it is shared, for an administrator; 404 for others', async () => {
  const { key, anna, ben, call, names } = await newOrganization()
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

test('400 for an address that is no view', async () => {
  const { anna, call } = await newOrganization()
  for (const place of ['https://example.com', '//evil', 'map?a b', '']) {
    expect((await call('POST', anna, '', { name: 'View', place })).status).toBe(400)
  }
})
