import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { reachableAddresses } from '#core/public-address'
import { Secret } from '#core/secret'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import { createKeyring } from '#fleet/crypto/keyring'
import { publishEvents } from '#fleet/events/publish'
import { insertOrganization } from '#fleet/organizations/organizations'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { testTls } from '#test/tls'
import { until } from '#test/until'
import { findPython, verifyInPython } from '#test/webhooks-in-python'
import { pruneWebhooks, relayEvents } from './delivery.ts'
import { retryDelaysMs, retryPeriodMs } from './retry-schedule.ts'
import { createWebhookRounds } from './rounds.ts'
import { createWebhookSender, signWebhook, type WebhookSender } from './sender.ts'
import { webhookSecretPlace } from './webhooks.ts'

type Received = { path: string; headers: Record<string, string | string[] | undefined>; body: string }

const keyring = createKeyring(new Secret('a master secret for tests, long enough'))
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
let database: TestDatabase
let pool: OwnedPool
let receiver: Server
type Answer = { status: number; headers?: Record<string, string> }
let answerWith: Answer
/** The answers of single paths. */
let answers: Record<string, Answer>
let received: Received[]
let nowMs: number

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'webhook-delivery.test' })
  receiver = createServer(testTls, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
      const { status, headers } = answers[request.url ?? ''] ?? answerWith
      response.writeHead(status, headers).end('thanks')
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await sender.close()
  await guarded.close()
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  answerWith = { status: 204 }
  answers = {}
  received = []
  // Ahead of the database's clock, so that every new delivery is due however long a test takes.
  nowMs = Date.now() + 600_000
  await pool.query('DELETE FROM webhook')
})

// The receiver is on this machine, in networks that an operator would have to allow.
const reachable = reachableAddresses(['127.0.0.0/8', '::1/128'])
const sender = createWebhookSender({ ca: testTls.cert, reachable, timeoutMs: 10_000 })
const guarded = createWebhookSender({ ca: testTls.cert, timeoutMs: 10_000 })
const receiverUrl = (path = '/in', host = 'localhost') =>
  `https://${host}:${(receiver.address() as AddressInfo).port}${path}`

async function newWebhook(url = receiverUrl(), owner?: string, { confirmed = true } = {}) {
  const organizationId = owner ?? (await insertOrganization(pool, 'Harbour ferries', 'pro')).id
  const { rows } = await pool.query<{ id: string }>('SELECT uuidv7() AS id')
  const id = String(rows[0]?.id)
  const sealed = (await dataKeyOf(pool, keyring, organizationId)).seal(secret, webhookSecretPlace(id))
  await pool.query(
    `INSERT INTO webhook (id, organization_id, url, events, sealed_secret, confirmed_at)
     VALUES ($1, $2, $3, '{device.created}', $4, CASE WHEN $5 THEN now() END)`,
    [id, organizationId, url, sealed, confirmed],
  )
  return { id, organizationId }
}

const device = { deviceId: 'a', serial: 'FR-1', name: 'Ferry', model: 'RF-1' }
const happen = (organizationId: string, type: 'device.created' | 'device.deleted' = 'device.created') =>
  publishEvents(pool, [{ organizationId, type, payload: device }])

const raise = (error: unknown) => {
  throw error
}
const roundsOf = (sender: WebhookSender) =>
  createWebhookRounds({ pool, keyring, sender, clock: () => nowMs, random: () => 0.5 }, raise)

async function work(through = sender): Promise<void> {
  const rounds = roundsOf(through)
  while ((await rounds.next()) > 0) await rounds.settle()
}

const stateOf = async (webhookId: string) => {
  const { rows } = await pool.query(
    'SELECT disabled_at, disabled_reason, (SELECT count(*)::int FROM webhook_delivery WHERE delivered_at IS NULL AND failed_at IS NULL) AS waiting FROM webhook WHERE id = $1',
    [webhookId],
  )
  return rows[0]
}

const failedDeliveries = async (webhookId: string) => {
  const { rows } = await pool.query(
    'SELECT count(*)::int AS failed FROM webhook_delivery WHERE webhook_id = $1 AND failed_at IS NOT NULL',
    [webhookId],
  )
  return rows[0]?.failed
}

describe('signWebhook', () => {
  test('returns the signature of the Standard Webhooks reference vector', () => {
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1_614_265_330, body: '{"test": 2432232314}' }
    expect(signWebhook(message, secret)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })
})

const hourMs = 3_600_000
/** The delays of a series of attempts, of which all fail. */
const delaysMs = [...retryDelaysMs, ...Array.from({ length: 7 }, () => 8 * hourMs)]
delaysMs.push(retryPeriodMs - delaysMs.reduce((sum, ms) => sum + ms))

describe('a webhook whose receiver has not accepted a delivery', () => {
  const refusing = (sent: string[]): WebhookSender => ({
    send: async ({ id }) => {
      sent.push(id)
      return { delivered: false, reason: 'the receiver responded with 404', status: 404 }
    },
    close: async () => {},
  })

  test('gets as few attempts for many events as for one, and is then disabled', async () => {
    const { id, organizationId } = await newWebhook(receiverUrl(), undefined, { confirmed: false })
    for (let event = 0; event < 30; event++) await happen(organizationId)
    const sent: string[] = []
    await work(refusing(sent))
    expect(sent).toHaveLength(1)
    for (const delayMs of delaysMs) {
      nowMs += delayMs - 1
      await work(refusing(sent))
      nowMs += 1
      await work(refusing(sent))
    }
    expect(sent).toHaveLength(1 + delaysMs.length)
    expect(await stateOf(id)).toMatchObject({ disabled_at: expect.any(Date), waiting: 0 })
  })

  test('gets all events after it accepted one', async () => {
    const { id, organizationId } = await newWebhook(receiverUrl(), undefined, { confirmed: false })
    for (let event = 0; event < 5; event++) await happen(organizationId)
    await work(refusing([]))
    nowMs += retryDelaysMs[0] ?? 0
    await work()
    expect(received).toHaveLength(5)
    expect((await pool.query('SELECT failures, held_until FROM webhook WHERE id = $1', [id])).rows).toEqual([
      { failures: 0, held_until: null },
    ])
  })
})

describe('webhook rounds', () => {
  test('sends subscribed events once with a signature, and no others', async () => {
    const { organizationId } = await newWebhook()
    await newWebhook()
    await happen(organizationId)
    await happen(organizationId, 'device.deleted')
    await work()
    await work()
    expect(received).toHaveLength(1)
    const [{ headers, body, path } = { headers: {}, body: '', path: '' }] = received
    expect(path).toBe('/in')
    expect(JSON.parse(body)).toEqual({
      type: 'device.created',
      timestamp: expect.any(String),
      organizationId,
      data: device,
    })
    expect(Number(headers['webhook-timestamp'])).toBe(Math.floor(nowMs / 1000))
    expect(String(headers['webhook-signature'])).toMatch(/^v1,[^ ]+$/)
    expect((await pool.query('SELECT 1 FROM outbox_event')).rowCount).toBe(0)
  })

  test('two concurrent workers send each event once', async () => {
    const { organizationId } = await newWebhook()
    for (let n = 0; n < 20; n++) await happen(organizationId)
    await Promise.all([work(), work(), work()])
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(20)
    expect(received).toHaveLength(20)
  })

  test('retries with growing delays and the same id, and disables the webhook after three days', async () => {
    const { id, organizationId } = await newWebhook()
    answerWith = { status: 500 }
    await happen(organizationId)
    const startedMs = nowMs
    for (const delayMs of delaysMs) {
      await work()
      nowMs += delayMs - 1
      await work()
      nowMs += 1
    }
    expect(received).toHaveLength(delaysMs.length)
    expect((await stateOf(id)).disabled_at).toBeNull()
    await work()
    expect(nowMs - startedMs).toBe(72 * hourMs)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(await stateOf(id)).toMatchObject({
      disabled_at: new Date(nowMs),
      disabled_reason: expect.stringContaining('the receiver responded with 500'),
      waiting: 0,
    })
    const { rows } = await pool.query('SELECT actor, action FROM audit_entry WHERE subject_id = $1', [id])
    expect(rows).toEqual([{ actor: 'system', action: 'webhook.disabled' }])
    await happen(organizationId)
    await work()
    expect(received).toHaveLength(delaysMs.length + 1)
    // Its deliveries remain for some days, and can be sent again.
    expect(await failedDeliveries(id)).toBe(1)
    await pruneWebhooks({ pool, clock: () => nowMs + 3 * 24 * hourMs })
    expect(await failedDeliveries(id)).toBe(1)
    await pruneWebhooks({ pool, clock: () => nowMs + 5 * 24 * hourMs })
    expect(await failedDeliveries(id)).toBe(0)
  })

  test('gives one event up after three days if the receiver accepts others', async () => {
    const { id, organizationId } = await newWebhook()
    answerWith = { status: 500 }
    await happen(organizationId)
    await work()
    nowMs += hourMs
    answerWith = { status: 204 }
    await happen(organizationId)
    await pool.query(`UPDATE webhook_delivery SET next_attempt_at = 'infinity' WHERE webhook_id = $1`, [id])
    await work()
    answerWith = { status: 500 }
    nowMs += retryPeriodMs
    await pool.query('UPDATE webhook_delivery SET next_attempt_at = now() WHERE webhook_id = $1', [id])
    await work()
    expect(await failedDeliveries(id)).toBe(1)
    expect(await stateOf(id)).toMatchObject({ disabled_at: null, waiting: 0 })
  })

  test('410 disables the webhook at once', async () => {
    const { id, organizationId } = await newWebhook()
    answerWith = { status: 410 }
    await happen(organizationId)
    await work()
    expect((await stateOf(id)).disabled_at).not.toBeNull()
  })

  test.each([408, 429, 500, 503])('obeys Retry-After of %i', async (status) => {
    const { id, organizationId } = await newWebhook()
    answerWith = { status, headers: { 'retry-after': new Date(nowMs + 90_000).toUTCString() } }
    await happen(organizationId)
    await work()
    answerWith = { status: 204 }
    // A date has no milliseconds.
    nowMs += 88_000
    await work()
    expect(await stateOf(id)).toMatchObject({ waiting: 1 })
    nowMs += 2_000
    await work()
    expect(await stateOf(id)).toMatchObject({ waiting: 0 })
    expect(received).toHaveLength(2)
  })

  test.each([429, 502, 503, 504])('%i slows down one webhook, and none of the same organization', async (status) => {
    const slow = await newWebhook(receiverUrl('/slow'))
    const { organizationId } = await newWebhook(receiverUrl('/other'), slow.organizationId)
    answers['/slow'] = { status, headers: { 'retry-after': '60' } }
    const paths = () => received.map(({ path }) => path).sort()
    await happen(organizationId)
    await work()
    for (let event = 0; event < 3; event++) await happen(organizationId)
    nowMs += 59_999
    await work()
    expect(paths()).toEqual(['/other', '/other', '/other', '/other', '/slow'])
    // One event tells whether the receiver has recovered.
    nowMs += 1
    await work()
    expect(paths().filter((path) => path === '/slow')).toHaveLength(2)
    expect(await stateOf(slow.id)).toMatchObject({ disabled_at: null, waiting: 4 })
    answers['/slow'] = { status: 204 }
    nowMs += 60_000
    await work()
    expect(paths().filter((path) => path === '/slow')).toHaveLength(6)
    expect(await stateOf(slow.id)).toMatchObject({ waiting: 0 })
  })

  test('attempts that were in progress together slow a webhook down once, and do not end it', async () => {
    const { id, organizationId } = await newWebhook()
    for (let event = 0; event < 8; event++) await happen(organizationId)
    const ends: ((overloaded: boolean) => void)[] = []
    const rounds = roundsOf({
      send: () =>
        new Promise((resolve) =>
          ends.push((overloaded) =>
            resolve(overloaded ? { delivered: false, reason: 'overloaded', status: 503 } : { delivered: true }),
          ),
        ),
      close: async () => {},
    })
    await rounds.next()
    nowMs += 1_000
    for (const [index, end] of ends.entries()) end(index < 4)
    await rounds.settle()
    const { rows } = await pool.query('SELECT failures, held_until FROM webhook WHERE id = $1', [id])
    expect(rows).toEqual([{ failures: 1, held_until: new Date(nowMs + 5_000) }])
    expect(await stateOf(id)).toMatchObject({ waiting: 4 })
  })

  test('an overloaded receiver is disabled after three days, however many events occur', async () => {
    const { id, organizationId } = await newWebhook()
    answerWith = { status: 503 }
    for (let attempt = 0; attempt <= delaysMs.length; attempt++) {
      await happen(organizationId)
      await work()
      nowMs += delaysMs[attempt] ?? 0
    }
    expect(received).toHaveLength(delaysMs.length + 1)
    expect(await stateOf(id)).toMatchObject({ disabled_at: new Date(nowMs), waiting: 0 })
  })

  test('does not follow redirects', async () => {
    const { organizationId } = await newWebhook()
    answerWith = { status: 307, headers: { location: receiverUrl('/elsewhere') } }
    await happen(organizationId)
    await work()
    expect(received.map(({ path }) => path)).toEqual(['/in'])
  })

  test.each(['localhost', '127.0.0.1', '[::ffff:127.0.0.1]'])(
    'nothing is sent to the private address %s',
    async (host) => {
      const { organizationId } = await newWebhook(receiverUrl('/in', host))
      await happen(organizationId)
      await work(guarded)
      expect(received).toEqual([])
      const { rows } = await pool.query('SELECT last_error FROM webhook_delivery WHERE organization_id = $1', [
        organizationId,
      ])
      expect(rows).toEqual([{ last_error: 'the address is not on the public Internet' }])
    },
  )

  test('receivers that never respond do not use the capacity of other organizations', async () => {
    const silent = await newWebhook(receiverUrl('/silent'))
    for (let more = 0; more < 40; more++) await newWebhook(receiverUrl('/silent'), silent.organizationId)
    for (let more = 0; more < 30; more++) await happen(silent.organizationId)
    const { organizationId } = await newWebhook(receiverUrl('/lively'))
    const ends: (() => void)[] = []
    const sent: string[] = []
    const rounds = roundsOf({
      send: ({ url }) => {
        sent.push(new URL(url).pathname)
        if (url.endsWith('/lively')) return Promise.resolve({ delivered: true })
        return new Promise((resolve) => ends.push(() => resolve({ delivered: true })))
      },
      close: async () => {},
    })
    await rounds.next()
    await happen(organizationId)
    await rounds.next()
    await until('the delivery to the other organization', async () => sent.includes('/lively'))
    await until('16 attempts', async () => ends.length === 16)
    expect(await rounds.next()).toBe(0)
    for (const answer of ends.splice(0)) answer()
    await rounds.settle()
    await rounds.next()
    await until('16 further attempts', async () => ends.length === 16)
    expect(sent.filter((path) => path === '/lively')).toHaveLength(1)
    for (const answer of ends) answer()
    await rounds.settle()
  })

  test('an event of another organization is sent before a large import has been relayed', async () => {
    const large = await newWebhook(receiverUrl('/large'))
    for (let more = 0; more < 9; more++) await newWebhook(receiverUrl('/large'), large.organizationId)
    const events = 1_500
    await pool.query(
      `INSERT INTO outbox_event (id, organization_id, type, payload)
       SELECT uuidv7(), $1, 'device.created', '{}' FROM generate_series(1, $2)`,
      [large.organizationId, events],
    )
    const { organizationId } = await newWebhook(receiverUrl('/lively'))
    await happen(organizationId)
    const sent: string[] = []
    const rounds = roundsOf({
      send: async ({ url }) => {
        sent.push(new URL(url).pathname)
        return { delivered: true }
      },
      close: async () => {},
    })
    await rounds.next()
    await rounds.settle()
    expect(sent).toContain('/lively')
    while ((await pool.query('SELECT FROM outbox_event LIMIT 1')).rowCount) await relayEvents({ pool })
    const { rows } = await pool.query(
      `SELECT count(*)::int AS deliveries, count(DISTINCT (webhook_id, event_id))::int AS different
       FROM webhook_delivery WHERE organization_id = $1`,
      [large.organizationId],
    )
    expect(rows).toEqual([{ deliveries: 10 * events, different: 10 * events }])
    expect(sent.filter((path) => path === '/lively')).toHaveLength(1)
  })

  test('an organization whose events cannot be relayed does not stop the others', async () => {
    const [broken, other] = [await newWebhook(receiverUrl('/broken')), await newWebhook(receiverUrl('/other'))]
    await happen(broken.organizationId)
    await happen(other.organizationId)
    const repair = await failFor(pool, 'webhook_delivery', broken.organizationId)
    const failed: string[] = []
    const rounds = createWebhookRounds({ pool, keyring, sender, clock: () => nowMs }, (_, organizationId) =>
      failed.push(organizationId),
    )
    await rounds.next()
    await rounds.settle()
    expect(received.map(({ path }) => path)).toEqual(['/other'])
    expect(failed).toEqual([broken.organizationId])
    await repair()
    await rounds.next()
    await rounds.settle()
    expect(received.map(({ path }) => path)).toEqual(['/other', '/broken'])
  })

  test('a webhook whose secret cannot be decrypted is disabled like one that does not respond', async () => {
    const { id, organizationId } = await newWebhook()
    await pool.query(`UPDATE webhook SET sealed_secret = '\\x00' WHERE id = $1`, [id])
    await happen(organizationId)
    await work()
    expect(received).toEqual([])
    expect(await stateOf(id)).toMatchObject({ disabled_at: null, waiting: 1 })
    nowMs += retryPeriodMs
    await work()
    expect(await stateOf(id)).toMatchObject({ disabled_reason: expect.stringContaining('could not be signed') })
  })

  test('an unreachable receiver is retried', async () => {
    const { id, organizationId } = await newWebhook('https://127.0.0.1:1/')
    await happen(organizationId)
    await work()
    expect(await stateOf(id)).toMatchObject({ disabled_at: null, waiting: 1 })
  })
})

describe('standardwebhooks', () => {
  const oldSecret = `whsec_${Buffer.from('an old secret for this test only').toString('base64')}`

  const keepOldSecret = async ({ id, organizationId }: { id: string; organizationId: string }, untilMs: number) => {
    const sealed = (await dataKeyOf(pool, keyring, organizationId)).seal(oldSecret, webhookSecretPlace(id))
    const values = [id, sealed, new Date(untilMs)]
    await pool.query('UPDATE webhook SET old_sealed_secret = $2, old_secret_expires_at = $3 WHERE id = $1', values)
  }

  /** Verifies the last received request as its receiver would. */
  const verify = (by: string) => {
    const { headers, body } = received.at(-1) ?? { headers: {}, body: '' }
    return new Webhook(by).verify(body, headers as Record<string, string>)
  }

  test('verifies a delivery, and no changed one', async () => {
    nowMs = Date.now() + 10_000
    const { organizationId } = await newWebhook()
    await happen(organizationId)
    await work()
    expect(verify(secret)).toMatchObject({ type: 'device.created', organizationId })
    expect(() => verify(oldSecret)).toThrow('No matching signature found')
    const last = received.at(-1)
    if (last) last.body = last.body.replace('device.created', 'device.deleted')
    expect(() => verify(secret)).toThrow('No matching signature found')
  })

  test('in Python, verifies a delivery with either secret', async ({ skip }) => {
    nowMs = Date.now() + 10_000
    const { id, organizationId } = await newWebhook()
    await keepOldSecret({ id, organizationId }, nowMs + 60_000)
    await happen(organizationId)
    await work()
    const python = findPython()
    if (!python) return skip('Python is not installed')
    const verified = await verifyInPython(python, {
      body: String(received.at(-1)?.body),
      headers: received.at(-1)?.headers ?? {},
      secrets: [secret, oldSecret, `whsec_${Buffer.from('a secret that did not sign').toString('base64')}`],
    })
    if (verified === undefined) return skip('standardwebhooks is not installed for Python (.ci/run installs it)')
    expect(verified).toEqual(['device.created', 'device.created', 'WebhookVerificationError'])
  })

  test('verifies with either secret during a rotation, the new one first, and then only with the new one', async () => {
    nowMs = Date.now() + 10_000
    const { id, organizationId } = await newWebhook()
    await keepOldSecret({ id, organizationId }, nowMs + 60_000)
    await happen(organizationId)
    await work()
    for (const either of [secret, oldSecret]) expect(verify(either)).toMatchObject({ type: 'device.created' })
    const [last] = received
    const [first] = String(last?.headers['webhook-signature']).split(' ')
    const sent = {
      id: String(last?.headers['webhook-id']),
      timestampS: Number(last?.headers['webhook-timestamp']),
      body: String(last?.body),
    }
    expect(first).toBe(signWebhook(sent, secret))
    nowMs += 60_000
    await happen(organizationId)
    await work()
    expect(String(received.at(-1)?.headers['webhook-signature'])).toMatch(/^v1,[^ ]+$/)
    expect(verify(secret)).toMatchObject({ type: 'device.created' })
    expect(() => verify(oldSecret)).toThrow('No matching signature found')
    await pruneWebhooks({ pool, clock: () => nowMs })
    const { rows } = await pool.query('SELECT old_sealed_secret FROM webhook WHERE id = $1', [id])
    expect(rows).toEqual([{ old_sealed_secret: null }])
  })
})
