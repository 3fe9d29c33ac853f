import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chatRetryDelaysMs, sendChatMessages } from '#alerts/chat/deliver'
import { evaluateStored } from '#alerts/evaluation/stored'
import { reachableAddresses } from '#core/public-address'
import { createGuardedPost, type GuardedPost } from '#fleet/webhooks/guarded-post'
import { type ChatReceiver, startChatReceiver } from '#test/chat-receiver'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'
import { testTls } from '#test/tls'

let api: TestControlPlane
let receiver: ChatReceiver
let sender: GuardedPost
let guarded: GuardedPost
let nowMs: number

beforeAll(async () => {
  receiver = await startChatReceiver()
  // The receiver is on this machine, in a network that an operator would have to allow.
  api = await startControlPlane({ WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' })
  sender = createGuardedPost({ ca: testTls.cert, reachable: reachableAddresses(['127.0.0.0/8']), timeoutMs: 10_000 })
  guarded = createGuardedPost({ ca: testTls.cert, timeoutMs: 10_000 })
})
afterAll(async () => {
  await Promise.all([sender.close(), guarded.close(), receiver.close()])
  await api.close()
})
beforeEach(async () => {
  // Ahead of the database's clock, so that every new message is due.
  nowMs = Date.now() + 10 * 60_000
  receiver.received.length = 0
  receiver.answerWith(200)
  await api.services.pool.query('DELETE FROM chat_message')
})

const send = (through = sender) =>
  sendChatMessages({
    pool: api.services.pool,
    keyring: api.services.keyring,
    clock: () => nowMs,
    sender: through,
  })

const slack = { name: '#night', kind: 'slack', url: 'https://hooks.slack.com/services/T0/B0/secret' }

/** An organization with a silent device. */
async function newFleet() {
  const { id, key } = await api.newOrganization({ name: 'Harbour ferries' })
  await seedDevices(api.services.pool, id, 1)
  const call = (method: string, path: string, json?: unknown, token = key) =>
    api.call(method, `/orgs/${id}${path}`, { token, ...(json === undefined ? {} : { json }) })
  const newChannel = async (kind: string, path = `/${kind}`) =>
    (await call('POST', '/chat-channels', { name: `The ${kind}`, kind, url: receiver.url(path) })).body.id as string
  const newRule = (chats: string[], more = {}) =>
    call('POST', '/alert-rules', {
      name: 'Offline',
      severity: 'critical',
      condition: { kind: 'offline', forMinutes: 5 },
      channels: { chats },
      ...more,
    })
  const openAlert = async () => {
    await api.services.pool.query(
      "UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE organization_id = $1",
      [id],
    )
    await evaluateStored(api.services)
  }
  const channel = async (channelId: string) => (await call('GET', `/chat-channels/${channelId}`)).body
  return { id, key, call, newChannel, newRule, openAlert, channel }
}

describe('/orgs/:orgId/chat-channels', () => {
  test('201 and 200 show the host; no response and no table contains the URL', async () => {
    const { id, call } = await newFleet()
    const created = await call('POST', '/chat-channels', slack)
    expect(created).toMatchObject({
      status: 201,
      body: { name: '#night', kind: 'slack', host: 'hooks.slack.com', lastTest: null, lastAlert: null },
    })
    const list = await call('GET', '/chat-channels')
    expect(list.body).toEqual({ items: [created.body], nextCursor: null })
    const one = `/chat-channels/${created.body.id}`
    const renamed = await call('PATCH', one, { name: '#day', url: 'https://chat.example.com/hooks/other' })
    expect(renamed.body).toMatchObject({ name: '#day', host: 'chat.example.com' })
    const { rows } = await api.services.pool.query(
      'SELECT to_jsonb(c)::text AS row FROM chat_channel c WHERE organization_id = $1',
      [id],
    )
    const audit = await call('GET', '/audit?limit=2')
    for (const shown of [created.body, renamed.body, rows[0].row, audit.body]) {
      expect(JSON.stringify(shown)).not.toMatch(/services\/T0|hooks\/other/)
    }
    expect((await call('DELETE', one)).status).toBe(204)
    expect((await call('GET', one)).status).toBe(404)
  })

  test('400 for a URL that messages could not reach, an unknown kind, and no change', async () => {
    const { call } = await newFleet()
    const urls = ['http://hooks.slack.com/x', 'https://169.254.169.254/x', 'https://a:b@hooks.slack.com/x', 'nonsense']
    for (const url of urls) {
      expect(await call('POST', '/chat-channels', { ...slack, url })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/url', code: 'url_refused' }] },
      })
    }
    expect((await call('POST', '/chat-channels', { ...slack, kind: 'irc' })).status).toBe(400)
    const { id } = (await call('POST', '/chat-channels', slack)).body
    expect((await call('PATCH', `/chat-channels/${id}`, { url: 'https://10.0.0.1/x' })).status).toBe(400)
    expect((await call('PATCH', `/chat-channels/${id}`, {})).status).toBe(400)
  })

  test('403 without webhook:manage, 404 for another organization’s channel, 409 while a rule names it', async () => {
    const { id, call, newChannel, newRule } = await newFleet()
    const channelId = await newChannel('slack')
    const operator = await api.newKey([id], 'operator')
    expect((await call('GET', `/chat-channels/${channelId}`, undefined, operator)).status).toBe(200)
    expect((await call('POST', '/chat-channels', slack, operator)).status).toBe(403)
    expect((await call('POST', `/chat-channels/${channelId}/test`, undefined, operator)).status).toBe(403)
    const stranger = await newFleet()
    expect((await stranger.call('GET', `/chat-channels/${channelId}`)).status).toBe(404)
    expect((await stranger.newRule([channelId])).status).toBe(404)
    const rule = await newRule([channelId])
    expect(rule).toMatchObject({ status: 201, body: { channels: { webhook: true, emails: [], chats: [channelId] } } })
    expect(await call('DELETE', `/chat-channels/${channelId}`)).toMatchObject({
      status: 409,
      body: { code: 'chat_channel_in_use' },
    })
    const path = `/alert-rules/${rule.body.id}`
    // A caller that does not know of chat channels keeps them.
    const unaware = await call('PATCH', path, { channels: { webhook: false, emails: [] } })
    expect(unaware.body.channels).toEqual({ webhook: false, emails: [], chats: [channelId] })
    await call('PATCH', path, { channels: { chats: [] } })
    expect((await call('DELETE', `/chat-channels/${channelId}`)).status).toBe(204)
  })
})

describe('POST /orgs/:orgId/chat-channels/:id/test', () => {
  test('202, and lastTest has the result; 429 within ten seconds', async () => {
    const { call, newChannel, channel } = await newFleet()
    const id = await newChannel('mattermost')
    const test = () => call('POST', `/chat-channels/${id}/test`)
    expect(await test()).toMatchObject({ status: 202, body: { lastTest: { state: 'waiting', error: null } } })
    const soon = await test()
    expect(soon).toMatchObject({ status: 429, body: { code: 'test_too_soon' } })
    expect(soon.headers.get('retry-after')).toBe('10')
    await send()
    expect(receiver.received).toMatchObject([
      { path: '/mattermost', body: { attachments: [{ title: 'Test of the channel The mattermost' }] } },
    ])
    expect(await channel(id)).toMatchObject({ lastTest: { state: 'sent', error: null }, lastAlert: null })
  })

  test('a test fails at once, with the reason: a response, or an address that is not public', async () => {
    const { call, newChannel, channel } = await newFleet()
    receiver.answerWith(503)
    const busy = await newChannel('slack')
    await call('POST', `/chat-channels/${busy}/test`)
    await send()
    const error = 'the receiver responded with 503'
    expect((await channel(busy)).lastTest).toMatchObject({ state: 'failed', error })
    const inside = await newChannel('slack')
    await call('POST', `/chat-channels/${inside}/test`)
    receiver.received.length = 0
    await send(guarded)
    expect((await channel(inside)).lastTest).toMatchObject({
      state: 'failed',
      error: 'the address is not on the public Internet',
    })
    expect(receiver.received).toEqual([])
    expect(await send()).toBe(0)
  })
})

describe('alerts in chat channels', () => {
  test('each maker receives its own format, once', async () => {
    const { id, newChannel, newRule, openAlert, channel } = await newFleet()
    const channels = [await newChannel('slack'), await newChannel('teams'), await newChannel('mattermost')]
    const rule = (await newRule(channels)).body
    await openAlert()
    await Promise.all([send(), send()])
    while ((await send()) > 0);
    expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/mattermost', '/slack', '/teams'])
    const bodyAt = (wanted: string) => receiver.received.find(({ path }) => path === wanted)?.body
    const title = expect.stringMatching(/^\[critical\] Offline: /)
    const link = expect.stringContaining(`/#/alerts?org=${id}&rule=${rule.id}`)
    expect(bodyAt('/slack')).toEqual({
      text: title,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
        {
          type: 'section',
          text: {
            type: 'mrkdwn',
            text: expect.stringMatching(/no report since .* UTC\nHarbour ferries$/),
            verbatim: true,
          },
        },
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: expect.stringMatching(/^<http.*\|Open/), verbatim: true }],
        },
      ],
    })
    expect(bodyAt('/teams')).toMatchObject({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: { type: 'AdaptiveCard', actions: [{ type: 'Action.OpenUrl', url: link }] },
        },
      ],
    })
    expect(bodyAt('/mattermost')).toMatchObject({ attachments: [{ fallback: title, title_link: link }] })
    expect(receiver.received.map(({ contentType }) => contentType)).toEqual(Array(3).fill('application/json'))
    for (const one of channels) expect((await channel(one)).lastAlert).toMatchObject({ state: 'sent', error: null })
  })

  test('a busy receiver is tried again; one that refuses is not', async () => {
    const { newChannel, newRule, openAlert, channel } = await newFleet()
    const id = await newChannel('slack')
    await newRule([id])
    receiver.answerWith(429)
    await openAlert()
    await send()
    expect((await channel(id)).lastAlert).toMatchObject({ state: 'waiting', error: 'the receiver responded with 429' })
    expect(await send()).toBe(0)
    nowMs += chatRetryDelaysMs[0] ?? 0
    receiver.answerWith(404)
    await send()
    expect((await channel(id)).lastAlert).toMatchObject({ state: 'failed', error: 'the receiver responded with 404' })
    nowMs += 24 * 3_600_000
    expect(await send()).toBe(0)
  })

  test('messages wait while the rule has quiet hours', async () => {
    const { newChannel, newRule, openAlert } = await newFleet()
    const quietHours = { from: '00:00', to: '23:59', timeZone: 'UTC' }
    await newRule([await newChannel('teams')], { quietHours })
    nowMs = new Date().setUTCHours(12, 0, 0, 0) + 24 * 3_600_000
    await openAlert()
    await send()
    expect(receiver.received).toEqual([])
  })
})
