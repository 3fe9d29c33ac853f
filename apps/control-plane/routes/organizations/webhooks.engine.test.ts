import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const json = { url: 'https://hooks.example.com/in?a=1', events: ['device.created', 'device.created', 'job.finished'] }

/** An organization with a webhook, which has a path. */
async function newWebhook() {
  const { id, key } = await api.newOrganization()
  const { body: webhook } = await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json })
  return { id, key, webhook, path: `/orgs/${id}/webhooks/${webhook.id}` }
}

const listOf = async (token: string, path: string) =>
  (await api.call('GET', path.slice(0, path.lastIndexOf('/')), { token })).body.items

describe('POST /orgs/:orgId/webhooks', () => {
  test('201 returns the signing secret, which no later response and no table contains', async () => {
    const { id, key } = await api.newOrganization()
    const path = `/orgs/${id}/webhooks`
    const created = await api.call('POST', path, { token: key, json })
    expect(created).toMatchObject({
      status: 201,
      body: { url: json.url, events: ['device.created', 'job.finished'], description: null, disabledAt: null },
    })
    expect(created.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { secret, ...shown } = created.body
    const list = await api.call('GET', path, { token: key })
    expect(list.body).toEqual({ items: [shown], nextCursor: null })
    const { rows } = await api.services.pool.query('SELECT to_jsonb(webhook)::text AS row FROM webhook WHERE id = $1', [
      created.body.id,
    ])
    expect(rows[0].row).not.toContain(secret.slice('whsec_'.length))
  })

  test('201 with the first webhook creates an alert rule, of which the audit log has a record', async () => {
    const { id, key } = await newWebhook()
    await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json })
    const rules = await api.call('GET', `/orgs/${id}/alert-rules`, { token: key })
    expect(rules.body.items).toMatchObject([
      { name: 'Webhook disabled', condition: { kind: 'webhook_disabled', forMinutes: 0 }, groupId: null, tags: [] },
    ])
    const audit = await api.call('GET', `/orgs/${id}/audit?action=alert_rule.created`, { token: key })
    expect(audit.body.items).toMatchObject([{ subjectId: rules.body.items[0].id }])
  })

  test.each([
    ['http://hooks.example.com/'],
    ['https://127.0.0.1/'],
    ['https://[::1]/'],
    ['https://169.254.169.254/latest/meta-data'],
    ['https://user:password@hooks.example.com/'],
    ['https://localhost/'],
    ['nonsense'],
  ])('400 for the URL %s', async (url) => {
    const { id, key } = await api.newOrganization()
    const answer = await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json: { ...json, url } })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/url', code: 'url_refused' }] } })
  })

  test('400 for an unknown event and for no events', async () => {
    const { id, key } = await api.newOrganization()
    for (const events of [['device.exploded'], [], undefined]) {
      expect((await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json: { ...json, events } })).status).toBe(
        400,
      )
    }
  })

  test('403 without webhook:manage, 404 for another organization’s key and an unknown organization', async () => {
    const { id } = await api.newOrganization()
    const operator = await api.newKey([id], 'operator')
    expect((await api.call('POST', `/orgs/${id}/webhooks`, { token: operator, json })).status).toBe(403)
    const { key: stranger } = await api.newOrganization()
    expect((await api.call('POST', `/orgs/${id}/webhooks`, { token: stranger, json })).status).toBe(404)
    const nowhere = `/orgs/${newId()}/webhooks`
    expect((await api.call('POST', nowhere, { token: api.platformKey, json })).status).toBe(404)
  })

  test('409 already_issued for a repeated Idempotency-Key', async () => {
    const { id, key } = await api.newOrganization()
    const headers = { 'idempotency-key': randomUUID() }
    const post = () => api.call('POST', `/orgs/${id}/webhooks`, { token: key, json, headers })
    expect((await post()).status).toBe(201)
    expect(await post()).toMatchObject({ status: 409, body: { code: 'already_issued' } })
  })
})

describe('POST /orgs/:orgId/webhooks/:id/rotate-secret', () => {
  test('201 returns a new secret, and the list says until when the old one signs', async () => {
    const { path, key, webhook } = await newWebhook()
    const startedMs = Date.now()
    const rotated = await api.call('POST', `${path}/rotate-secret`, { token: key, json: {} })
    expect(rotated.status).toBe(201)
    const { secret, ...shown } = rotated.body
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(secret).not.toBe(webhook.secret)
    const expiresInMs = Date.parse(shown.oldSecretExpiresAt) - startedMs
    expect(Math.round(expiresInMs / 3_600_000)).toBe(24)
    expect(await listOf(key, path)).toEqual([shown])
  })

  test('201 without a grace period ends the old secret at once', async () => {
    const { path, key } = await newWebhook()
    const json = { oldSecretExpiresInMinutes: 0 }
    const rotated = await api.call('POST', `${path}/rotate-secret`, { token: key, json })
    expect(rotated).toMatchObject({ status: 201, body: { oldSecretExpiresAt: null } })
  })

  test('the audit log has the rotation without a secret', async () => {
    const { id, path, key } = await newWebhook()
    const { body } = await api.call('POST', `${path}/rotate-secret`, { token: key, json: {} })
    const audit = await api.call('GET', `/orgs/${id}/audit?action=webhook.secret_rotated`, { token: key })
    expect(audit.body.items).toMatchObject([
      { subjectId: body.id, detail: { oldSecretExpiresAt: body.oldSecretExpiresAt } },
    ])
    expect(JSON.stringify(audit.body)).not.toContain(body.secret)
  })

  test('400 for a grace period of more than a week', async () => {
    const { path, key } = await newWebhook()
    const json = { oldSecretExpiresInMinutes: 10_081 }
    expect((await api.call('POST', `${path}/rotate-secret`, { token: key, json })).status).toBe(400)
  })

  test('403 without webhook:manage, 404 for another organization’s key and an unknown webhook', async () => {
    const { id, path } = await newWebhook()
    const operator = await api.newKey([id], 'operator')
    const stranger = await api.newOrganization()
    const rotate = (token: string, at = path) => api.call('POST', `${at}/rotate-secret`, { token, json: {} })
    expect((await rotate(operator)).status).toBe(403)
    expect((await rotate(stranger.key)).status).toBe(404)
    expect((await rotate(stranger.key, `/orgs/${stranger.id}/webhooks/${path.split('/').at(-1)}`)).status).toBe(404)
    expect((await rotate(api.platformKey, path.replace(id, randomUUID()))).status).toBe(404)
  })

  test('409 already_issued for a repeated Idempotency-Key', async () => {
    const { path, key } = await newWebhook()
    const headers = { 'idempotency-key': randomUUID() }
    const rotate = () => api.call('POST', `${path}/rotate-secret`, { token: key, json: {}, headers })
    expect((await rotate()).status).toBe(201)
    expect(await rotate()).toMatchObject({ status: 409, body: { code: 'already_issued' } })
  })
})

describe('DELETE /orgs/:orgId/webhooks/:id/old-secret', () => {
  test('204 ends the old secret early, also if there is none any more', async () => {
    const { path, key } = await newWebhook()
    await api.call('POST', `${path}/rotate-secret`, { token: key, json: {} })
    expect((await api.call('DELETE', `${path}/old-secret`, { token: key })).status).toBe(204)
    expect(await listOf(key, path)).toMatchObject([{ oldSecretExpiresAt: null }])
    expect((await api.call('DELETE', `${path}/old-secret`, { token: key })).status).toBe(204)
  })

  test('403 without webhook:manage, 404 for another organization’s key and an unknown webhook', async () => {
    const { id, path } = await newWebhook()
    const operator = await api.newKey([id], 'operator')
    const stranger = await api.newOrganization()
    expect((await api.call('DELETE', `${path}/old-secret`, { token: operator })).status).toBe(403)
    expect((await api.call('DELETE', `${path}/old-secret`, { token: stranger.key })).status).toBe(404)
    const foreign = `/orgs/${stranger.id}/webhooks/${path.split('/').at(-1)}/old-secret`
    expect((await api.call('DELETE', foreign, { token: stranger.key })).status).toBe(404)
  })
})

describe('DELETE /orgs/:orgId/webhooks/:id', () => {
  test('204, then 404; 404 for a webhook of another organization', async () => {
    const { id, key } = await api.newOrganization()
    const { body } = await api.call('POST', `/orgs/${id}/webhooks`, { token: key, json })
    const stranger = await api.newOrganization()
    const foreign = `/orgs/${stranger.id}/webhooks/${body.id}`
    expect((await api.call('DELETE', foreign, { token: stranger.key })).status).toBe(404)
    expect((await api.call('DELETE', `/orgs/${id}/webhooks/${body.id}`, { token: key })).status).toBe(204)
    expect((await api.call('DELETE', `/orgs/${id}/webhooks/${body.id}`, { token: key })).status).toBe(404)
  })
})
