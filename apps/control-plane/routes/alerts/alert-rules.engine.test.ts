import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const offline = { kind: 'offline', forMinutes: 30 }
const circle = { type: 'Circle', lat: 51.95, lon: 4.05, radiusM: 800 }

async function newRule(json: Record<string, unknown> = { name: 'Offline', condition: offline }) {
  const organization = await api.newOrganization()
  const path = `/orgs/${organization.id}/alert-rules`
  const created = await api.call('POST', path, { token: organization.key, json })
  return { ...organization, path, created, one: `${path}/${created.body.id}` }
}

describe('POST /orgs/:orgId/alert-rules', () => {
  test('201 creates an enabled rule for all devices, with Location and ETag', async () => {
    const { created, path } = await newRule()
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Offline',
      enabled: true,
      severity: 'warning',
      condition: offline,
      groupId: null,
      tags: [],
      channels: { webhook: true, emails: [], chats: [] },
      unconfirmedEmails: [],
      mailMissing: false,
      quietHours: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`)
    expect(created.headers.get('etag')).toMatch(/^".+"$/)
  })

  test('201 keeps all settings, and each kind of condition', async () => {
    const { id, key, path } = await newRule()
    const post = (to: string, json: unknown) => api.call('POST', to, { token: key, json })
    const groupId = (await post(`/orgs/${id}/groups`, { name: 'Trucks' })).body.id
    const placeId = (await post(`/orgs/${id}/places`, { name: 'Port', area: circle })).body.id
    const settings = {
      name: 'All',
      enabled: false,
      severity: 'critical',
      groupId,
      tags: ['truck'],
      channels: { webhook: false, emails: ['fleet@example.com'] },
      quietHours: { days: ['sat', 'sun'], from: '22:00', to: '06:00', timeZone: 'Europe/Berlin' },
    }
    const conditions = [
      offline,
      { kind: 'no_fix', forMinutes: 10_080 },
      { kind: 'weak_signal', rsrpBelowDbm: -112.5, forMinutes: 10 },
      { kind: 'high_temperature', temperatureAboveC: 80, forMinutes: 5 },
      { kind: 'low_voltage', voltageBelowV: 11.5, forMinutes: 10 },
      { kind: 'rebooted' },
      { kind: 'sim_changed' },
      { kind: 'operator_changed' },
      { kind: 'entered_place', placeId, forMinutes: 0 },
      { kind: 'left_place', placeId, forMinutes: 60 },
      { kind: 'data_use', aboveMegabytes: 5_000, period: 'month' },
    ]
    for (const condition of conditions) {
      const created = await post(path, { ...settings, condition })
      expect(created).toMatchObject({ status: 201, body: { ...settings, condition } })
      expect((await api.call('GET', `${path}/${created.body.id}`, { token: key })).body).toEqual(created.body)
    }
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an unknown kind', { condition: { kind: 'sunspots', forMinutes: 5 } }, /\/condition\/kind/],
    ['a period that is too short', { condition: { kind: 'offline', forMinutes: 1 } }, /\/condition\/forMinutes/],
    ['a period that is no integer', { condition: { kind: 'offline', forMinutes: 5.5 } }, /\/condition\/forMinutes/],
    ['a threshold of another kind', { condition: { ...offline, rsrpBelowDbm: -100 } }, /\/condition\/rsrpBelowDbm/],
    ['no threshold', { condition: { kind: 'weak_signal', forMinutes: 5 } }, /\/condition\/rsrpBelowDbm/],
    [
      'a positive RSRP',
      { condition: { kind: 'weak_signal', rsrpBelowDbm: 110, forMinutes: 5 } },
      /\/condition\/rsrpBelowDbm/,
    ],
    [
      'an unknown period',
      { condition: { kind: 'data_use', aboveMegabytes: 5, period: 'week' } },
      /\/condition\/period/,
    ],
    ['an unknown severity', { severity: 'fatal' }, /\/severity/],
    ['no e-mail address', { channels: { emails: ['fleet'] } }, /\/channels\/emails\/0/],
    ['a line break in an address', { channels: { emails: ['a@example.com\r\nBcc: b@example.com'] } }, /\/emails\/0/],
    [
      'eleven addresses',
      { channels: { emails: Array.from({ length: 11 }, (_, n) => `a${n}@example.com`) } },
      /\/channels\/emails/,
    ],
    ['a line break in the name', { name: 'A\r\nBcc: b@example.com' }, /\/name: Control characters/],
    [
      'an unknown time zone',
      { quietHours: { from: '22:00', to: '06:00', timeZone: 'Mars/Olympus' } },
      /\/quietHours\/timeZone: Unknown time zone/,
    ],
    ['empty quiet hours', { quietHours: { from: '22:00', to: '22:00', timeZone: 'UTC' } }, /must differ/],
    ['an unknown field', { colour: 'red' }, /colour/],
    [
      'a rule about webhooks with tags',
      { condition: { kind: 'webhook_disabled', forMinutes: 0 }, tags: ['truck'] },
      /neither a group nor tags/,
    ],
  ])('400 for %s', async (_, json, detail) => {
    const { key, path } = await newRule()
    const answer = await api.call('POST', path, { token: key, json: { name: 'A', condition: offline, ...json } })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(detail) } })
  })

  test('404 for a group or a place of another organization', async () => {
    const other = await api.newOrganization()
    const post = (to: string, json: unknown, token: string) => api.call('POST', to, { token, json })
    const groupId = (await post(`/orgs/${other.id}/groups`, { name: 'Trucks' }, other.key)).body.id
    const placeId = (await post(`/orgs/${other.id}/places`, { name: 'Port', area: circle }, other.key)).body.id
    const { key, path } = await newRule()
    for (const json of [
      { name: 'A', condition: offline, groupId },
      { name: 'A', condition: offline, groupId: newId() },
      { name: 'A', condition: { kind: 'left_place', placeId, forMinutes: 0 } },
    ]) {
      expect((await post(path, json, key)).status).toBe(404)
    }
  })

  test('402 when the subscription is suspended; 409 at 200 rules', async () => {
    const { id, key, path } = await newRule()
    const json = { name: 'A', condition: offline }
    await api.services.pool.query(
      `INSERT INTO alert_rule (id, organization_id, name, enabled, severity, kind, for_minutes, tags, notify_webhooks, emails,
         created_at, updated_at)
       SELECT uuidv7(), $1, 'R', true, 'info', 'offline', 5, '{}', true, '{}', now(), now() FROM generate_series(2, 200)`,
      [id],
    )
    expect(await api.call('POST', path, { token: key, json })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 200, used: 200 },
    })
    await api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [id])
    expect((await api.call('POST', path, { token: key, json })).status).toBe(402)
  })
})

describe('/orgs/:orgId/alert-rules/:id', () => {
  test('200 reads, lists and changes single fields; 304 and 412 by ETag; 204 deletes; each change is audited', async () => {
    const { id, key, path, one, created } = await newRule()
    const etag = String(created.headers.get('etag'))
    expect((await api.call('GET', one, { token: key, headers: { 'if-none-match': etag } })).status).toBe(304)
    const condition = { kind: 'weak_signal', rsrpBelowDbm: -110, forMinutes: 10 }
    const changed = await api.call('PATCH', one, { token: key, json: { condition, enabled: false } })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Offline', condition, enabled: false } })
    const late = { token: key, json: { name: 'Late' }, headers: { 'if-match': etag } }
    expect((await api.call('PATCH', one, late)).status).toBe(412)
    expect((await api.call('PATCH', one, { token: key, json: {} })).status).toBe(400)
    expect((await api.call('GET', path, { token: key })).body.items).toEqual([changed.body])
    expect((await api.call('DELETE', one, { token: key })).status).toBe(204)
    expect((await api.call('GET', one, { token: key })).status).toBe(404)
    const audit = await api.call('GET', `/orgs/${id}/audit`, { token: key })
    expect(audit.body.items.map(({ action }: { action: string }) => action)).toEqual([
      'alert_rule.deleted',
      'alert_rule.updated',
      'alert_rule.created',
    ])
  })

  test('a rule whose group was deleted can still be changed', async () => {
    const { id, key, path } = await newRule()
    const group = await api.call('POST', `/orgs/${id}/groups`, { token: key, json: { name: 'Trucks' } })
    const groupId = group.body.id
    const rule = await api.call('POST', path, { token: key, json: { name: 'A', condition: offline, groupId } })
    await api.call('DELETE', `/orgs/${id}/groups/${groupId}`, { token: key })
    const one = `${path}/${rule.body.id}`
    expect((await api.call('PATCH', one, { token: key, json: { name: 'B' } })).body).toMatchObject({ groupId })
  })

  test('a place that a rule uses is not deleted: 409 place_in_use', async () => {
    const { id, key, path } = await newRule()
    const places = `/orgs/${id}/places`
    const place = await api.call('POST', places, { token: key, json: { name: 'Port', area: circle } })
    const condition = { kind: 'left_place', placeId: place.body.id, forMinutes: 0 }
    const rule = await api.call('POST', path, { token: key, json: { name: 'A', condition } })
    const one = `${places}/${place.body.id}`
    expect(await api.call('DELETE', one, { token: key })).toMatchObject({ status: 409, body: { code: 'place_in_use' } })
    await api.call('DELETE', `${path}/${rule.body.id}`, { token: key })
    expect((await api.call('DELETE', one, { token: key })).status).toBe(204)
  })
})
