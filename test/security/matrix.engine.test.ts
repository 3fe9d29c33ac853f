import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '#fleet/access/scopes'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { entries } from './matrix-entries.ts'
import { attempt as attemptOn, guarded, type Operation, operations } from './operations.ts'
import { createWorld, type World } from './world.ts'

const withinOrganization = guarded.filter(({ access }) => access !== 'principal')

let api: TestControlPlane
let world: World
let stranger: { id: string; key: string }

beforeAll(async () => {
  api = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
  world = await createWorld(api)
  stranger = await api.newOrganization()
})
afterAll(() => api.close())

const attempt = (operation: Operation, token?: string) => attemptOn(api, world, operation, { token })

test('every served route has an entry, and every route that needs credentials is guarded', () => {
  expect(operations.map(({ name }) => name).filter((name) => !(name in entries))).toEqual([])
  const open = operations.filter(({ access }) => access === 'public' || access === 'device').map(({ name }) => name)
  expect(open.every((name) => entries[name]?.unguarded)).toBe(true)
})

describe('without credentials: 401', () => {
  test.each(guarded)('$name', async (operation) => {
    const answer = await attempt(operation)
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })
})

describe('with a device’s token: 401', () => {
  test.each(guarded)('$name', async (operation) => {
    expect((await attempt(operation, world.deviceToken)).status).toBe(401)
  })
})

describe('with another organization’s key: as if it did not exist', () => {
  test.each(guarded)('$name', async (operation) => {
    const answer = await attempt(operation, stranger.key)
    const { foreign } = operation.entry
    if (foreign === 403) expect(answer.status).toBe(403)
    else if (foreign === undefined) expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    else expect(answer.status).toBe(foreign === 'created' ? 201 : 200)
    if (foreign === 'own' || foreign === 'created')
      for (const id of [world.orgId, world.deviceId]) expect(JSON.stringify(answer.body)).not.toContain(id)
  })
})

describe('without the scope it asks for: 403', () => {
  test.each(withinOrganization)('$name needs $access', async (operation) => {
    const held = scopes.filter((scope) => scope !== operation.access)
    const token = await api.newKey([world.orgId], held)
    expect(await attempt(operation, token)).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })
})

describe('another organization’s ids inside a body: as if they did not exist', () => {
  const own = async (path: string, json: unknown) =>
    (await api.call('POST', path, { token: stranger.key, json })).body.id

  test('members of a group', async () => {
    const groupId = await own(`/orgs/${stranger.id}/groups`, { name: 'Members' })
    const path = `/orgs/${stranger.id}/groups/${groupId}/members`
    expect((await api.call('POST', path, { token: stranger.key, json: { deviceIds: [world.deviceId] } })).status).toBe(
      404,
    )
  })

  test('targets of a profile', async () => {
    const profileId = await own(`/orgs/${stranger.id}/configs`, { name: 'P', settings: {} })
    const path = `/orgs/${stranger.id}/configs/${profileId}/apply`
    for (const json of [{ deviceIds: [world.deviceId] }, { groupId: world.groupId }]) {
      expect((await api.call('POST', path, { token: stranger.key, json })).status).toBe(404)
    }
  })
})
