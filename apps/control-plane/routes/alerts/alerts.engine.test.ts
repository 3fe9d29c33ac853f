import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { evaluateStored } from '#alerts/evaluation/stored'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Item = { id: string; deviceId: string }

/** An organization with so many silent devices and an alert for each. */
async function newInbox(devices: number) {
  const organization = await api.newOrganization()
  const { id, key } = organization
  const json = { name: 'Offline', severity: 'critical', condition: { kind: 'offline', forMinutes: 30 } }
  const rule = await api.call('POST', `/orgs/${id}/alert-rules`, { token: key, json })
  const { pool } = api.services
  for (let n = 0; n < devices; n++) await registerDevice(pool, id)
  await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE organization_id = $1", [id])
  await evaluateStored(api.services)
  const path = `/orgs/${id}/alerts`
  const list = async (query = '') => (await api.call('GET', `${path}?${query}`, { token: key })).body
  const items: Item[] = (await list()).items
  return { ...organization, path, list, items, ruleId: rule.body.id }
}

describe('GET /orgs/:orgId/alerts', () => {
  test('200 lists newest first in pages, by state, rule, device, severity and time', async () => {
    const { path, key, list, items, ruleId } = await newInbox(3)
    expect(items).toHaveLength(3)
    const [newest, second, oldest] = items
    const first = await list('limit=2')
    expect(first.items).toEqual([newest, second])
    expect((await list(`limit=2&cursor=${first.nextCursor}`)).items).toEqual([oldest])
    await api.call('POST', `${path}/${newest?.id}/acknowledge`, { token: key })
    await api.call('POST', `${path}/${oldest?.id}/close`, { token: key })
    const ids = async (query: string) => (await list(query)).items.map(({ id }: Item) => id)
    expect(await ids('state=open')).toEqual([second?.id])
    expect(await ids('state=open&state=acknowledged')).toEqual([newest?.id, second?.id])
    expect(await ids(`deviceId=${oldest?.deviceId}`)).toEqual([oldest?.id])
    expect(await ids(`ruleId=${ruleId}&severity=critical`)).toHaveLength(3)
    expect(await ids('severity=info')).toEqual([])
    expect(await ids(`since=${new Date(Date.now() - 60_000).toISOString()}`)).toHaveLength(3)
    expect(await ids(`since=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([])
    expect((await api.call('GET', `${path}?state=broken`, { token: key })).status).toBe(400)
  })

  test('another organization’s alerts are not visible', async () => {
    const { items } = await newInbox(1)
    const stranger = await newInbox(0)
    expect(stranger.items).toEqual([])
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/acknowledge'],
      ['POST', '/close'],
    ] as const) {
      const answer = await api.call(method, `${stranger.path}/${items[0]?.id}${suffix}`, { token: stranger.key })
      expect(answer.status).toBe(404)
    }
  })
})

describe('GET /orgs/:orgId/alert-counts', () => {
  test('200 counts open and acknowledged alerts by severity; 403 without alert:read', async () => {
    const { id, key, path, items } = await newInbox(3)
    const counts = (token: string) => api.call('GET', `/orgs/${id}/alert-counts`, { token })
    expect(await counts(key)).toMatchObject({ status: 200, body: { open: 3, acknowledged: 0 } })
    await api.call('POST', `${path}/${items[0]?.id}/acknowledge`, { token: key })
    await api.call('POST', `${path}/${items[1]?.id}/close`, { token: key })
    const none = { open: 0, acknowledged: 0 }
    expect((await counts(key)).body).toEqual({
      open: 1,
      acknowledged: 1,
      bySeverity: { critical: { open: 1, acknowledged: 1 }, warning: none, info: none },
    })
    expect((await counts(await api.newKey([id], ['device:read']))).status).toBe(403)
  })

  test('200 counts and lists the alerts of a device, and of the members of a group; 404 for another group', async () => {
    const { id, key, path, items, ruleId, list } = await newInbox(3)
    const { pool } = api.services
    await pool.query("UPDATE device SET tags = '{bus}' WHERE id = $1", [items[1]?.deviceId])
    const json = { name: 'Buses', smartTags: ['bus'] }
    const group = (await api.call('POST', `/orgs/${id}/groups`, { token: key, json })).body.id
    const members = { deviceIds: [items[0]?.deviceId] }
    await api.call('POST', `/orgs/${id}/groups/${group}/members`, { token: key, json: members })
    const count = async (query: string) =>
      (await api.call('GET', `/orgs/${id}/alert-counts?${query}`, { token: key })).body.open
    expect(await count(`deviceId=${items[2]?.deviceId}`)).toBe(1)
    expect(await count(`groupId=${group}`)).toBe(2)
    expect(await count(`groupId=${group}&deviceId=${items[2]?.deviceId}`)).toBe(0)
    expect((await list(`groupId=${group}&ruleId=${ruleId}`)).items).toEqual([items[0], items[1]])
    const stranger = await api.newOrganization()
    const theirs = (await api.call('POST', `/orgs/${stranger.id}/groups`, { token: stranger.key, json })).body.id
    for (const address of [`/orgs/${id}/alert-counts`, path]) {
      expect((await api.call('GET', `${address}?groupId=${theirs}`, { token: key })).status).toBe(404)
      expect((await api.call('GET', `${address}?groupId=truck`, { token: key })).status).toBe(400)
    }
  })
})

describe('GET /alert-counts', () => {
  test('200 counts the alerts of all organizations of the key; 403 without alert:read', async () => {
    const [first, second] = [await newInbox(2), await newInbox(1)]
    await newInbox(1)
    const counts = (token: string) => api.call('GET', '/alert-counts', { token })
    const both = await counts(await api.newKey([first.id, second.id], ['alert:read']))
    expect(both).toMatchObject({ status: 200, body: { open: 3, bySeverity: { critical: { open: 3 } } } })
    expect((await counts(second.key)).body).toMatchObject({ open: 1 })
    expect((await counts(await api.newKey([first.id], ['device:read']))).status).toBe(403)
  })
})

describe('POST /orgs/:orgId/alerts/:id/acknowledge and /close', () => {
  test('200 record who and when; acknowledging twice changes nothing; 409 when closed', async () => {
    const { id, key, path, items } = await newInbox(1)
    const one = `${path}/${items[0]?.id}`
    const acknowledged = await api.call('POST', `${one}/acknowledge`, { token: key })
    expect(acknowledged).toMatchObject({
      status: 200,
      body: {
        state: 'acknowledged',
        acknowledgedBy: expect.stringMatching(/^key:/),
        acknowledgedAt: expect.any(String),
      },
    })
    const colleague = await api.newKey([id], 'operator')
    const again = await api.call('POST', `${one}/acknowledge`, { token: colleague })
    expect(again.body).toEqual(acknowledged.body)
    const closed = await api.call('POST', `${one}/close`, { token: colleague })
    expect(closed).toMatchObject({
      status: 200,
      body: { state: 'closed', closeReason: 'closed_by_user', endedAt: null, closedAt: expect.any(String) },
    })
    expect(closed.body.closedBy).not.toBe(acknowledged.body.acknowledgedBy)
    expect((await api.call('GET', one, { token: key })).body).toEqual(closed.body)
    for (const action of ['acknowledge', 'close']) {
      expect(await api.call('POST', `${one}/${action}`, { token: key })).toMatchObject({
        status: 409,
        body: { code: 'alert_closed' },
      })
    }
    const audit = await api.call('GET', `/orgs/${id}/audit?limit=2`, { token: key })
    expect(audit.body.items.map(({ action }: { action: string }) => action)).toEqual([
      'alert.closed',
      'alert.acknowledged',
    ])
  })

  test('403 for a viewer, who reads the inbox', async () => {
    const { id, path, items } = await newInbox(1)
    const token = await api.newKey([id], 'viewer')
    expect((await api.call('GET', path, { token })).status).toBe(200)
    expect((await api.call('POST', `${path}/${items[0]?.id}/close`, { token })).status).toBe(403)
  })
})

describe('PATCH /orgs/:orgId/alerts/:id', () => {
  test('200 sets and removes comment and assignee, also of a closed alert; 400 without a field', async () => {
    const { key, path, items, list } = await newInbox(2)
    const one = `${path}/${items[0]?.id}`
    const change = (json: unknown) => api.call('PATCH', one, { token: key, json })
    const written = { comment: 'New antenna on Monday.', assignee: 'Ada Byron' }
    expect(await change(written)).toMatchObject({ status: 200, body: { ...written, state: 'open' } })
    expect((await list('assignee=Ada%20Byron')).items).toMatchObject([{ id: items[0]?.id }])
    await api.call('POST', `${one}/close`, { token: key })
    expect((await change({ assignee: null })).body).toMatchObject({ comment: written.comment, assignee: null })
    for (const json of [{}, { assignee: '' }, { comment: 'x'.repeat(1_001) }, { state: 'open' }]) {
      expect((await change(json)).status).toBe(400)
    }
  })
})

describe('POST /orgs/:orgId/alert-acknowledgements and /alert-closures', () => {
  const handle = (id: string, verb: 'acknowledgements' | 'closures', token: string, json: unknown) =>
    api.call('POST', `/orgs/${id}/alert-${verb}`, { token, json })

  test('200 says what happened to each alert; a repetition changes nothing', async () => {
    const { id, key, path, items, list } = await newInbox(3)
    const stranger = await newInbox(1)
    const [newest, second, oldest] = items.map((item) => item.id)
    await api.call('POST', `${path}/${second}/close`, { token: key })
    const foreign = stranger.items[0]?.id
    const json = { alertIds: [newest, second, foreign], comment: 'On my way.', assignee: 'Ada' }
    const outcomes = (first: string) => [
      { alertId: newest, outcome: first },
      { alertId: second, outcome: 'closed' },
      { alertId: foreign, outcome: 'not_found' },
    ]
    const done = await handle(id, 'acknowledgements', key, json)
    expect(done).toMatchObject({ status: 200, body: { changed: 1, results: outcomes('changed'), hasMore: false } })
    const again = await handle(id, 'acknowledgements', key, json)
    expect(again.body).toEqual({ changed: 0, results: outcomes('unchanged'), hasMore: false })
    const other = await handle(id, 'acknowledgements', key, { alertIds: [newest], assignee: 'Bo' })
    expect(other.body.changed).toBe(1)
    expect((await list('state=acknowledged')).items).toMatchObject([{ comment: 'On my way.', assignee: 'Bo' }])
    const closed = await handle(id, 'closures', key, { alertIds: [newest, second, oldest] })
    expect(closed.body.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'changed',
      'unchanged',
      'changed',
    ])
    const audit = await api.call('GET', `/orgs/${id}/audit?limit=5`, { token: key })
    expect(audit.body.items.map(({ action }: { action: string }) => action)).toEqual([
      'alert.closed',
      'alert.closed',
      'alert.updated',
      'alert.acknowledged',
      'alert.closed',
    ])
    expect((await api.call('GET', `${stranger.path}/${foreign}`, { token: stranger.key })).body.state).toBe('open')
  })

  test('200 handles what matches a filter, and publishes alert.closed for each', async () => {
    const { id, key, items, ruleId } = await newInbox(3)
    const all = { filter: { ruleId, severity: 'critical' } }
    const one = await handle(id, 'acknowledgements', key, { filter: { deviceId: items[0]?.deviceId } })
    expect(one.body).toMatchObject({ changed: 1, results: [{ alertId: items[0]?.id, outcome: 'changed' }] })
    const before = { filter: { until: '2020-01-01T00:00:00Z' } }
    expect((await handle(id, 'acknowledgements', key, before)).body).toMatchObject({ changed: 0, results: [] })
    expect((await handle(id, 'closures', key, { filter: { state: ['open'] } })).body.changed).toBe(2)
    expect((await handle(id, 'closures', key, { ...all, comment: 'Storm.' })).body.changed).toBe(1)
    expect((await handle(id, 'closures', key, all)).body).toEqual({ changed: 0, results: [], hasMore: false })
    const { rows } = await api.services.pool.query(
      "SELECT payload FROM outbox_event WHERE organization_id = $1 AND type = 'alert.closed'",
      [id],
    )
    expect(rows).toHaveLength(3)
  })

  test('200 handles at most 1,000 alerts, the oldest first', async () => {
    const { id, key, items, list } = await newInbox(1)
    await api.services.pool.query(
      `INSERT INTO alert (id, organization_id, rule_id, rule_name, kind, severity, notify_webhooks, device_id, since,
         measured, opened_at)
       SELECT uuidv7(), organization_id, uuidv7(), rule_name, kind, severity, false, device_id, since, measured, opened_at
       FROM alert, generate_series(1, 1000) WHERE id = $1`,
      [items[0]?.id],
    )
    const first = (await handle(id, 'acknowledgements', key, { filter: {} })).body
    expect(first).toMatchObject({ changed: 1_000, hasMore: true })
    expect(first.results[0]).toEqual({ alertId: items[0]?.id, outcome: 'changed' })
    expect((await list('state=open')).items).toHaveLength(1)
    expect((await handle(id, 'acknowledgements', key, { filter: {} })).body).toMatchObject({
      changed: 1,
      hasMore: false,
    })
  })

  test('400 for no or two selections and too many ids; 403 for a viewer; 404 for an unknown group', async () => {
    const { id, key, items } = await newInbox(1)
    const alertIds = [items[0]?.id]
    for (const verb of ['acknowledgements', 'closures'] as const) {
      const tooMany = { alertIds: Array.from({ length: 1_001 }, () => crypto.randomUUID()) }
      for (const json of [{}, { alertIds, filter: {} }, { alertIds: [] }, tooMany, { filter: { kind: 'offline' } }]) {
        expect((await handle(id, verb, key, json)).status).toBe(400)
      }
      const viewer = await api.newKey([id], 'viewer')
      expect((await handle(id, verb, viewer, { alertIds })).status).toBe(403)
      const unknown = { filter: { groupId: crypto.randomUUID() } }
      expect((await handle(id, verb, key, unknown)).status).toBe(404)
    }
  })
})

test('webhooks receive alert.opened and alert.closed with what was measured, unless the rule says otherwise', async () => {
  const { id, key, path, items, ruleId } = await newInbox(1)
  await api.call('POST', `${path}/${items[0]?.id}/close`, { token: key })
  const events = async () => {
    const { rows } = await api.services.pool.query<{ type: string; payload: Record<string, unknown> }>(
      "SELECT type, payload FROM outbox_event WHERE organization_id = $1 AND type LIKE 'alert.%' ORDER BY id",
      [id],
    )
    return rows
  }
  const alert = {
    alertId: items[0]?.id,
    ruleId,
    ruleName: 'Offline',
    kind: 'offline',
    severity: 'critical',
    deviceId: items[0]?.deviceId,
    measured: { lastSeenAt: expect.any(String) },
  }
  expect(await events()).toMatchObject([
    { type: 'alert.opened', payload: { ...alert, state: 'open' } },
    { type: 'alert.closed', payload: { ...alert, state: 'closed', closeReason: 'closed_by_user' } },
  ])
  const channels = { webhook: false, emails: [] }
  await api.call('PATCH', `/orgs/${id}/alert-rules/${ruleId}`, { token: key, json: { channels } })
  const deviceId = await registerDevice(api.services.pool, id)
  await api.services.pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
  await evaluateStored(api.services)
  expect(await events()).toHaveLength(2)
})
