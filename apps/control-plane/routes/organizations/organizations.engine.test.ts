import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

describe('POST /orgs', () => {
  test('201 creates an organization with the plan free and a Location', async () => {
    const answer = await api.call('POST', '/orgs', { token: api.platformKey, json: { name: '  Harbour ferries ' } })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      id: expect.any(String),
      name: 'Harbour ferries',
      plan: 'free',
      subscription: { status: 'active', deviceQuota: 10 },
      createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    })
    expect(answer.headers.get('location')).toBe(`/orgs/${answer.body.id}`)
    const read = await api.call('GET', `/orgs/${answer.body.id}`, { token: api.platformKey })
    expect(read.body).toEqual(answer.body)
  })

  test('400 for an unknown plan, an unknown field and a missing name', async () => {
    const answer = (json: unknown) => api.call('POST', '/orgs', { token: api.platformKey, json })
    for (const plan of ['gold', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])
      expect((await answer({ name: 'A', plan })).body.errors).toMatchObject([
        { pointer: '/plan', code: 'unknown_plan' },
      ])
    expect((await answer({ name: 'A', colour: 'red' })).body.errors).toMatchObject([
      { pointer: '/colour', code: 'unknown_field' },
    ])
    expect(await answer({})).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ pointer: '/name' }] },
    })
  })

  test('401 without credentials, with a challenge', async () => {
    const answer = await api.call('POST', '/orgs', { json: { name: 'A' } })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated', requestId: expect.any(String) } })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
  })

  test('403 for a key of an organization', async () => {
    const { key } = await api.newOrganization()
    expect(await api.call('POST', '/orgs', { token: key, json: { name: 'A' } })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
  })

  test('405 with the allowed methods', async () => {
    const answer = await api.call('DELETE', '/orgs')
    expect(answer).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } })
    expect(answer.headers.get('allow')).toBe('POST, GET, HEAD')
  })
})
