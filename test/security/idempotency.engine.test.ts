import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '#fleet/access/scopes'
import { type Answer, startControlPlane, type TestControlPlane } from '#test/control-plane'
import { routes } from '../../apps/control-plane/routes.ts'
import { concretePath, type Operation, operations } from './operations.ts'
import { createWorld, type World } from './world.ts'

const posts = operations.filter(({ method }) => method === 'POST')

let api: TestControlPlane
let world: World

beforeAll(async () => {
  api = await startControlPlane()
  world = await createWorld(api)
})
afterAll(() => api.close())

/** The caller of a request, and the objects that it names. */
type Scene = { world: World; token: string }

const own = (method: string, path: string, json?: unknown) =>
  api.call(method, path, { token: world.key, ...(json === undefined ? {} : { json }) })

/** What some operations need before they succeed. */
const preparations: Record<string, () => Promise<Partial<Scene>>> = {
  'POST /devices/{id}/transfer': async () => {
    const device = { organizationId: world.orgId, serial: 'T-1', name: 'R', model: 'M' }
    const deviceId = (await own('POST', '/devices', device)).body.id
    const { id: orgId } = await api.newOrganization()
    return { world: { ...world, deviceId, orgId }, token: await api.newKey([world.orgId, orgId], scopes) }
  },
  'POST /orgs/{orgId}/configs/{id}/roll-back': async () => {
    await own('PATCH', `/orgs/${world.orgId}/configs/${world.profileId}`, { settings: { apn: 'other' } })
    return {}
  },
  'POST /orgs/{orgId}/jobs/{id}/retry': async () => {
    await own('POST', `/orgs/${world.orgId}/jobs/${world.jobId}/cancel`)
    return {}
  },
  'POST /orgs/{orgId}/job-batches/{id}/retry': async () => {
    await own('POST', `/orgs/${world.orgId}/job-batches/${world.batchId}/cancel`)
    return {}
  },
}

async function sceneOf({ name, access }: Operation): Promise<Scene> {
  const prepared = await preparations[name]?.()
  return { world, token: access === 'platform' ? api.platformKey : world.key, ...prepared }
}

function send(operation: Operation, scene: Scene, key: string, isOther = false): Promise<Answer> {
  const { json, otherJson, body, otherBody } = operation.entry
  const content = isOther ? otherJson : json
  return api.call('POST', concretePath(operation, scene.world), {
    token: scene.token,
    ...(content ? { json: content(scene.world) } : {}),
    ...(body ? { body: isOther ? (otherBody ?? '') : body.text } : {}),
    headers: { 'idempotency-key': key, ...(body ? { 'content-type': body.type } : {}) },
  })
}

test('every POST honours Idempotency-Key, as the contract documents, or creates nothing', () => {
  const unclear = posts.filter(({ takesKey, entry }) => takesKey === (entry.createsNothing !== undefined))
  expect(unclear.map(({ name }) => name)).toEqual([])
  const declared = routes.filter(({ idempotent }) => idempotent !== undefined)
  expect(posts.filter(({ takesKey }) => takesKey)).toHaveLength(declared.length)
})

describe('the same key', () => {
  test.each(posts.filter(({ takesKey }) => takesKey))('$name', async (operation) => {
    const scene = await sceneOf(operation)
    const key = randomUUID()
    const first = await send(operation, scene, key)
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
    expect(first.headers.get('idempotency-replayed')).toBeNull()

    const again = await send(operation, scene, key)
    if (again.status === 409) expect(again.body.code).toBe('already_issued')
    else {
      expect(again).toMatchObject({ status: first.status, body: first.body })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      for (const name of ['etag', 'location']) expect(again.headers.get(name)).toBe(first.headers.get(name))
    }

    const { json, body, otherJson, otherBody } = operation.entry
    if (!json && !body) return
    expect(otherJson ?? otherBody, 'The entry has no other body.').toBeDefined()
    expect(await send(operation, scene, key, true)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
  })
})
