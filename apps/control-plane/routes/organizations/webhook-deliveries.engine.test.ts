import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { publishEvents } from '#fleet/events/publish'
import { relayEvents } from '#fleet/webhooks/delivery'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

/** An organization with a webhook. */
async function newWebhook() {
  const { id, key } = await api.newOrganization()
  const json = { url: 'https://hooks.example.com/in', events: ['device.created'] }
  const { body } = await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json })
  return { id, key, path: `/orgs/${id}/webhooks/${body.id}`, webhookId: String(body.id) }
}

const markDelivered = (deliveryId: string) =>
  api.services.pool.query('UPDATE webhook_delivery SET delivered_at = now(), attempt = 3 WHERE id = $1', [deliveryId])

describe('GET /orgs/:orgId/webhooks/:id/deliveries', () => {
  test('200 lists deliveries, newest first, page by page', async () => {
    const { id, key, path } = await newWebhook()
    const [a, b, c] = [newId(), newId(), newId()]
    for (const deviceId of [a, b, c]) {
      const payload = { deviceId, serial: 'FR-1', name: 'Ferry', model: 'RF-1' }
      await publishEvents(api.services.pool, [{ organizationId: id, type: 'device.created', payload }])
      await relayEvents(api.services)
    }
    const first = await api.call('GET', `${path}/deliveries?limit=2`, { token: key })
    expect(first.body.items).toMatchObject([
      {
        type: 'device.created',
        data: { deviceId: c, serial: 'FR-1' },
        status: 'pending',
        attempts: 0,
        deliveredAt: null,
      },
      { data: { deviceId: b } },
    ])
    const next = await api.call('GET', `${path}/deliveries?limit=2&cursor=${first.body.nextCursor}`, { token: key })
    expect(next.body).toMatchObject({ items: [{ data: { deviceId: a } }], nextCursor: null })
  })

  test('403 without webhook:manage, 404 for another organization’s key and an unknown webhook', async () => {
    const { id, path } = await newWebhook()
    const operator = await api.newKey([id], 'operator')
    expect((await api.call('GET', `${path}/deliveries`, { token: operator })).status).toBe(403)
    const stranger = await api.newOrganization()
    expect((await api.call('GET', `${path}/deliveries`, { token: stranger.key })).status).toBe(404)
    const unknown = `/orgs/${stranger.id}/webhooks/${newId()}/deliveries`
    expect((await api.call('GET', unknown, { token: stranger.key })).status).toBe(404)
  })
})

describe('POST /orgs/:orgId/webhooks/:id/test', () => {
  test('202 queues a test event without a subscription, and records who sent it', async () => {
    const { id, key, path, webhookId } = await newWebhook()
    const sent = await api.call('POST', `${path}/test`, { token: key })
    expect(sent).toMatchObject({ status: 202, body: { type: 'webhook.test', data: { webhookId }, status: 'pending' } })
    const event = { type: 'webhook.test', timestamp: sent.body.createdAt, organizationId: id, data: { webhookId } }
    expect(sent.body.event).toEqual(event)
    const { body } = await api.call('GET', `${path}/deliveries`, { token: key })
    expect(body.items).toEqual([sent.body])
    const audit = await api.call('GET', `/orgs/${id}/audit?action=webhook.tested`, { token: key })
    expect(audit.body.items).toMatchObject([{ subjectId: webhookId }])
  })

  test('409 for a disabled webhook, until it is enabled', async () => {
    const { key, path } = await newWebhook()
    const disabled = await api.call('PATCH', path, { token: key, json: { enabled: false } })
    expect(disabled).toMatchObject({ status: 200, body: { disabledAt: expect.any(String) } })
    expect(await api.call('POST', `${path}/test`, { token: key })).toMatchObject({
      status: 409,
      body: { code: 'webhook_disabled' },
    })
    const enabled = await api.call('PATCH', path, { token: key, json: { enabled: true } })
    expect(enabled.body).toMatchObject({ disabledAt: null, disabledReason: null })
    expect((await api.call('POST', `${path}/test`, { token: key })).status).toBe(202)
  })
})

describe('POST /orgs/:orgId/webhooks/:id/deliveries/:deliveryId/redeliver', () => {
  test('202 queues the event again with the same event id', async () => {
    const { key, path } = await newWebhook()
    const { body } = await api.call('POST', `${path}/test`, { token: key })
    await markDelivered(body.id)
    const again = await api.call('POST', `${path}/deliveries/${body.id}/redeliver`, { token: key })
    expect(again).toMatchObject({
      status: 202,
      body: { id: body.id, eventId: body.eventId, status: 'pending', attempts: 0, deliveredAt: null },
    })
  })

  test('404 for a delivery of another webhook', async () => {
    const [mine, other] = [await newWebhook(), await newWebhook()]
    const { body } = await api.call('POST', `${other.path}/test`, { token: other.key })
    const foreign = await api.call('POST', `${mine.path}/deliveries/${body.id}/redeliver`, { token: mine.key })
    expect(foreign.status).toBe(404)
  })
})

describe('PATCH /orgs/:orgId/webhooks/:id', () => {
  test('200 changes events and description, and leaves what is not in the body', async () => {
    const { key, path } = await newWebhook()
    const renamed = await api.call('PATCH', path, { token: key, json: { description: 'Shop floor' } })
    expect(renamed.body).toMatchObject({ description: 'Shop floor', events: ['device.created'], disabledAt: null })
    const changed = await api.call('PATCH', path, { token: key, json: { events: ['job.finished'] } })
    expect(changed.body).toMatchObject({ description: 'Shop floor', events: ['job.finished'] })
  })

  test('200 with enabled: false deletes pending deliveries', async () => {
    const { key, path } = await newWebhook()
    await api.call('POST', `${path}/test`, { token: key })
    await api.call('PATCH', path, { token: key, json: { enabled: false } })
    expect((await api.call('GET', `${path}/deliveries`, { token: key })).body.items).toEqual([])
  })

  test('400 for an unknown event, 404 for an unknown webhook', async () => {
    const { id, key, path } = await newWebhook()
    expect((await api.call('PATCH', path, { token: key, json: { events: ['x'] } })).status).toBe(400)
    expect((await api.call('PATCH', `/orgs/${id}/webhooks/${newId()}`, { token: key, json: {} })).status).toBe(404)
  })
})
