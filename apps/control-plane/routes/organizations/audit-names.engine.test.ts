import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Named = { action: string; actorName: string | null; subjectName: string | null }

async function newOrganization() {
  const { id, key } = await api.newOrganization()
  const call = async (method: string, path: string, json?: unknown, token = key) => {
    const answer = await api.call(method, path, { token, ...(json === undefined ? {} : { json }) })
    expect(answer.status, path).toBeLessThan(300)
    return answer.body
  }
  const records = async (): Promise<Named[]> => (await call('GET', `/orgs/${id}/audit`)).items
  const named = async (action: string) =>
    (await records()).filter((record) => record.action === action).map(({ subjectName }) => subjectName)
  return { id, call, records, named }
}

test('records name their objects by the last known name, also after they were renamed and deleted', async () => {
  const { id, call, named } = await newOrganization()
  const device = { organizationId: id, serial: 'N-1', name: 'Bus 1', model: 'RX' }
  const bus = await call('POST', '/devices', device)
  const group = await call('POST', `/orgs/${id}/groups`, { name: 'Buses' })
  await call('PATCH', `/devices/${bus.id}`, { name: 'Bus 7' })
  expect(await named('device.created')).toEqual(['Bus 7'])
  const condition = { kind: 'offline', forMinutes: 5 }
  const rule = await call('POST', `/orgs/${id}/alert-rules`, { name: 'Offline', condition })
  await call('PATCH', `/orgs/${id}/alert-rules/${rule.id}`, { name: 'Offline > 5 min' })
  expect(await named('alert_rule.created')).toEqual(['Offline > 5 min'])
  await call('DELETE', `/orgs/${id}/groups/${group.id}`)
  await call('DELETE', `/devices/${bus.id}`)
  expect(await named('group.created')).toEqual(['Buses'])
  expect(await named('device.updated')).toEqual(['Bus 7'])
})

test('records name who acted; a key of the platform has no name for an organization', async () => {
  const { id, call, records } = await newOrganization()
  const { key } = await call('POST', `/orgs/${id}/api-keys`, { name: 'Dashboard', role: 'admin' })
  await call('POST', `/orgs/${id}/groups`, { name: 'By a key' }, key)
  await call('POST', `/orgs/${id}/groups`, { name: 'By the platform' }, api.platformKey)
  const names = new Map((await records()).map(({ subjectName, actorName }) => [subjectName, actorName]))
  expect(names.get('By a key')).toBe('Dashboard')
  expect(names.get('By the platform')).toBeNull()
})

test('a transferred device has the new name only for its new organization', async () => {
  const [from, to] = [await newOrganization(), await newOrganization()]
  const device = { organizationId: from.id, serial: 'N-2', name: 'Van 2', model: 'RX' }
  const van = await from.call('POST', '/devices', device)
  await from.call('POST', `/devices/${van.id}/transfer`, { toOrgId: to.id }, api.platformKey)
  await to.call('PATCH', `/devices/${van.id}`, { name: 'Secret van' })
  expect(JSON.stringify(await from.records())).not.toContain('Secret van')
  expect(await to.named('device.updated')).toEqual(['Secret van'])
})
