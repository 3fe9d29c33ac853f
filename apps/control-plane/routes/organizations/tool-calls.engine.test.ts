import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const record = (id: string, token: string, json: unknown, headers = {}) =>
  api.call('POST', `/orgs/${id}/tool-calls`, { token, json, headers })

const recorded = async (id: string) => {
  const { body } = await api.call('GET', `/orgs/${id}/audit?action=tool.called`, { token: api.platformKey })
  return body.items as { actor: string; subjectId: string; detail: object; requestId: string }[]
}

test('204 writes the audit record of any caller of the organization, once for an idempotency key', async () => {
  const { id } = await api.newOrganization()
  const reader = await api.newKey([id], ['job:read'])
  const once = { 'idempotency-key': 'one' }
  for (const _attempt of [1, 2]) {
    expect((await record(id, reader, { tool: 'device_signal', about: 'SN-1' }, once)).status).toBe(204)
  }
  expect((await record(id, reader, { tool: 'create_jobs', step: 'plan' })).status).toBe(204)
  expect(await recorded(id)).toMatchObject([
    { subjectId: 'create_jobs', subjectType: 'tool', detail: { step: 'plan' }, actor: expect.stringMatching(/^key:/) },
    { subjectId: 'device_signal', detail: { about: 'SN-1' } },
  ])
})

test.for([
  { tool: 'Find devices' },
  { tool: 'find_devices', about: 'x'.repeat(201) },
  { tool: 'find_devices', step: 'apply' },
  { tool: 'find_devices', secret: 'x' },
  {},
])('400 for case %#', async (json) => {
  const { id, key } = await api.newOrganization()
  expect(await record(id, key, json)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  expect(await recorded(id)).toEqual([])
})

test('404 for another organization and for none, also for the platform', async () => {
  const { key } = await api.newOrganization()
  const other = await api.newOrganization()
  const nowhere = '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'
  expect((await record(other.id, key, { tool: 'find_devices' })).status).toBe(404)
  expect((await record(nowhere, api.platformKey, { tool: 'find_devices' })).status).toBe(404)
  expect(await recorded(other.id)).toEqual([])
})

test('429 beyond the rate limit of the plan, and no more records', async () => {
  const { id, key } = await api.newOrganization({ plan: 'free' })
  const statuses = []
  for (let call = 0; call < 130; call++) statuses.push((await record(id, key, { tool: 'find_devices' })).status)
  expect(statuses).toContain(429)
  const { rows } = await api.services.pool.query('SELECT FROM audit_entry WHERE organization_id = $1', [id])
  expect(rows).toHaveLength(statuses.filter((status) => status === 204).length)
})
