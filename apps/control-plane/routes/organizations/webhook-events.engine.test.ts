import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { webhookBodies } from '../../http/openapi-webhooks.ts'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

/** The events of an organization, oldest first, that no worker has relayed yet. */
async function eventsOf(organizationId: string) {
  const { rows } = await api.services.pool.query<{ type: string; payload: unknown }>(
    'SELECT type, payload FROM outbox_event WHERE organization_id = $1 ORDER BY id',
    [organizationId],
  )
  return rows
}

/** What the document does not describe about the data of an event. */
function undescribed({ type, payload }: { type: string; payload: unknown }): string[] {
  const { body } = webhookBodies.find((webhook) => webhook.type === type) ?? {}
  if (!body) return [`${type} is not in the document`]
  const { error } = z.strictObject(body.shape.data.shape).safeParse(payload)
  return error ? [`${type}: ${z.prettifyError(error)}`] : []
}

test('events have the data that the OpenAPI document describes', async () => {
  const [from, to] = [await api.newOrganization(), await api.newOrganization()]
  const token = await api.newKey([from.id, to.id], 'admin')
  const post = async (path: string, json: unknown) => {
    const { status, body } = await api.call('POST', path, { token, json })
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const device = (serial: string) => post('/devices', { organizationId: from.id, serial, name: 'Ferry', model: 'RF-1' })
  const [kept, sold] = [await device('WE-1'), await device('WE-2')]
  const job = await post(`/devices/${kept.id}/jobs`, { kind: 'reboot' })
  await post(`/orgs/${from.id}/jobs/${job.id}/cancel`, {})
  const batch = await post(`/orgs/${from.id}/job-batches`, { kind: 'reboot', deviceIds: [kept.id, sold.id] })
  await post(`/orgs/${from.id}/job-batches/${batch.id}/cancel`, {})
  const group = await post(`/orgs/${from.id}/groups`, { name: 'Nobody' })
  await post(`/orgs/${from.id}/groups/${group.id}/jobs`, { kind: 'reboot' })
  await api.call('PATCH', `/devices/${kept.id}`, { token, json: { status: 'disabled' } })
  await post(`/devices/${sold.id}/transfer`, { toOrgId: to.id })
  await api.call('DELETE', `/devices/${kept.id}`, { token })
  const events = [...(await eventsOf(from.id)), ...(await eventsOf(to.id))]
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set([
      'device.created',
      'job.finished',
      'job_batch.finished',
      'device.status_changed',
      'device.transferred',
      'device.deleted',
    ]),
  )
  expect(events.filter(({ type }) => type === 'job_batch.finished')).toHaveLength(2)
  expect(events.flatMap(undescribed)).toEqual([])
})
