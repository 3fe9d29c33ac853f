import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { evaluateStored } from '#alerts/evaluation/stored'
import { sendConfirmations } from '#alerts/mail/confirm'
import { sendMails } from '#alerts/mail/deliver'
import { sendTestMails } from '#alerts/mail/test-messages'
import { pruneAlerts } from '#alerts/retention'
import { reportMailServer } from '#messages/mail-server'
import type { MailWorker } from '#messages/mail-worker'
import { createMailer } from '#messages/mailer'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { plansFileWith } from '#test/limited-plans'
import { seedDevices } from '#test/seed-devices'
import { startSmtp, type TestSmtp } from '#test/smtp'

let api: TestControlPlane
let smtp: TestSmtp
let worker: MailWorker
let nowMs: number

beforeAll(async () => {
  smtp = await startSmtp()
  api = await startControlPlane({ PLANS_FILE: await plansFileWith({ reserved: { waitingAddresses: 2 } }) })
  const mailer = createMailer({ smtpUrl: smtp.smtpUrl, from: 'Routerfleet <alerts@example.com>' })
  worker = { pool: api.services.pool, plans: api.services.plans, clock: () => nowMs, mailer }
})
afterAll(async () => {
  worker.mailer.close()
  await smtp.close()
  await api.close()
})
beforeEach(async () => {
  // Ahead of the database by more than a test takes on a busy machine.
  nowMs = Date.now() + 10 * 60_000
  smtp.received.length = 0
  await api.services.pool.query('DELETE FROM alert_rule')
  await api.services.pool.query('DELETE FROM alert_address')
})

const condition = { kind: 'offline', forMinutes: 5 }
const receivers = () => smtp.received.map(({ to }) => to.join()).sort()
/** The token of the link in the last message, whose lines the encoding breaks. */
const linkOf = (raw = smtp.received.at(-1)?.raw ?? '') =>
  /#\/alert-mail\?link=(fla_\w+)/.exec(raw.replaceAll('=\r\n', '').replaceAll('=3D', '='))?.[1] ?? ''
const answer = (link: string, word?: 'confirm' | 'refuse') =>
  api.call('POST', '/alert-address-links', { json: { link, ...(word ? { answer: word } : {}) } })

/** An organization with a silent device and a rule for these addresses. */
async function newRule(emails: string[], plan = 'enterprise') {
  const { id, key } = await api.newOrganization({ plan, name: 'Harbour ferries' })
  const [deviceId] = await seedDevices(api.services.pool, id, 1)
  const call = (method: string, path: string, json?: unknown, headers = {}) =>
    api.call(method, `/orgs/${id}${path}`, { token: key, headers, ...(json === undefined ? {} : { json }) })
  const created = await call('POST', '/alert-rules', { name: 'Silent', condition, channels: { emails } })
  const one = `/alert-rules/${created.body.id}`
  const states = async () => (await call('GET', one)).body.unconfirmedEmails
  const again = (email: string) => call('POST', '/alert-address-confirmations', { email })
  /** Opens the alert of the device, and once more if it is open. */
  const raiseAlert = async () => {
    const { pool } = api.services
    await pool.query('UPDATE device SET last_seen_at = now() WHERE id = $1', [deviceId])
    await evaluateStored(api.services)
    await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
    await evaluateStored(api.services)
    // Beyond the pause between two messages of a rule.
    nowMs += 6 * 60_000
    await sendMails(worker)
  }
  return { id, key, call, created, one, states, again, raiseAlert }
}

describe('an address of a rule', () => {
  test('receives a link and no alerts until its owner confirms it; opening the link does not', async () => {
    const { created, one, states, call, raiseAlert } = await newRule(['Fleet@Example.com'])
    expect(created.body.unconfirmedEmails).toEqual([{ email: 'Fleet@Example.com', state: 'waiting' }])
    await Promise.all([sendConfirmations(worker), sendConfirmations(worker)])
    expect(receivers()).toEqual(['fleet@example.com'])
    expect(smtp.received[0]?.subject).toBe('Confirm that you want alerts of Harbour ferries')
    const link = linkOf()
    await raiseAlert()
    expect(await answer(link)).toMatchObject({
      status: 200,
      body: { email: 'fleet@example.com', organizationName: 'Harbour ferries', state: 'waiting' },
    })
    expect((await api.fetch(`/?link=${link}`)).status).not.toBe(500)
    await raiseAlert()
    expect(receivers()).toEqual(['fleet@example.com'])

    const { headers } = await call('GET', one)
    expect((await answer(link, 'confirm')).body.state).toBe('confirmed')
    expect(await states()).toEqual([])
    const read = await call('GET', one, undefined, { 'if-none-match': headers.get('etag') ?? '' })
    expect(read.status).toBe(200)
    await raiseAlert()
    expect(smtp.received.map(({ subject }) => subject)).toEqual([
      'Confirm that you want alerts of Harbour ferries',
      expect.stringContaining('[warning] Silent'),
    ])
    const { body } = await call('GET', '/audit?action=alert_address.confirmed')
    expect(body.items).toMatchObject([{ actor: 'email:fleet@example.com', subjectId: 'fleet@example.com' }])
  })

  test('refuses with the link of any message, and receives nothing until it confirms with that link', async () => {
    const { states, again, raiseAlert, call } = await newRule(['fleet@example.com'])
    await sendConfirmations(worker)
    await answer(linkOf(), 'confirm')
    await raiseAlert()
    const refusal = linkOf()
    await raiseAlert()
    expect(smtp.received).toHaveLength(3)
    // One message waits when the answer comes.
    await api.services.pool.query('UPDATE alert_mail SET sent_at = NULL, next_attempt_at = now()')
    expect((await answer(refusal, 'refuse')).body.state).toBe('refused')
    await raiseAlert()
    expect(await states()).toEqual([{ email: 'fleet@example.com', state: 'refused' }])
    expect(await again('fleet@example.com')).toMatchObject({ status: 409, body: { code: 'address_refused' } })
    await call('POST', '/alert-rules', { name: 'Again', condition, channels: { emails: ['FLEET@example.com'] } })
    await sendConfirmations(worker)
    expect(smtp.received).toHaveLength(3)

    await api.services.pool.query("UPDATE alert_address_link SET expires_at = expires_at - interval '1 year'")
    await pruneAlerts(api.services)
    expect((await answer(refusal, 'confirm')).body.state).toBe('confirmed')
    await raiseAlert()
    expect(smtp.received.length).toBeGreaterThan(3)
  })

  test('is confirmed for one organization only, and by its own link only', async () => {
    const mine = await newRule(['fleet@example.com', 'other@example.com'])
    await sendConfirmations(worker)
    const theirs = await newRule(['fleet@example.com'])
    const link = linkOf(smtp.received.find(({ to }) => to.includes('fleet@example.com'))?.raw)
    await answer(link, 'confirm')
    expect(await mine.states()).toEqual([{ email: 'other@example.com', state: 'waiting' }])
    expect(await theirs.states()).toEqual([{ email: 'fleet@example.com', state: 'waiting' }])
  })

  test('waits after an attempt that failed, and receives one message after all', async () => {
    const { call } = await newRule(['fleet@example.com'])
    smtp.refuseWith(451)
    await sendConfirmations(worker)
    expect((await call('GET', '/alert-addresses')).body.items).toMatchObject([{ sentAt: null }])
    smtp.refuseWith(undefined)
    nowMs += 60_000
    await sendConfirmations(worker)
    nowMs += 24 * 3_600_000
    await sendConfirmations(worker)
    expect(smtp.received).toHaveLength(1)
    expect((await call('GET', '/alert-addresses')).body.items).toMatchObject([
      { email: 'fleet@example.com', state: 'waiting', sentAt: expect.any(String) },
    ])
  })

  test('of a person who signed in is confirmed; that of a rule before the upgrade, too', async () => {
    const { id, call, one, states } = await newRule([])
    const { pool } = api.services
    await pool.query("UPDATE alert_rule SET emails = '{Old@example.com}' WHERE organization_id = $1", [id])
    expect(await states()).toEqual([{ email: 'Old@example.com', state: 'waiting' }])
    const migration = new URL('../../../../libs/postgres/migrations/0161_alert_addresses.sql', import.meta.url)
    const [, backfill = ''] = (await readFile(migration, 'utf8')).split(/^(?=INSERT INTO alert_address )/m)
    await pool.query(backfill)
    expect(await states()).toEqual([])
    await call('PATCH', one, { channels: { emails: ['old@example.com', 'new@example.com'] } })
    expect(await states()).toEqual([{ email: 'new@example.com', state: 'waiting' }])
  })
})

describe('a link', () => {
  test('is stored as a hash, is no other credential, and ends', async () => {
    await newRule(['fleet@example.com'])
    await sendConfirmations(worker)
    const link = linkOf()
    expect(link).not.toBe('')
    const { rows } = await api.services.pool.query('SELECT l::text FROM alert_address_link l')
    expect(JSON.stringify(rows)).not.toContain(link.split('_')[2])
    expect((await api.call('GET', '/devices', { token: link })).status).toBe(401)
    const headers = { 'x-routerfleet-page': '1' }
    expect((await api.call('POST', '/auth/session', { json: { link }, headers })).status).toBe(401)
    for (const wrong of ['', 'fla_x', `${link.slice(0, -1)}_`, link.replace('fla_', 'fll_')]) {
      expect(await answer(wrong, 'confirm')).toMatchObject({ status: 404, body: { code: 'link_invalid' } })
    }
    await api.services.pool.query("UPDATE alert_address_link SET expires_at = now() - interval '1 second'")
    expect((await answer(link, 'confirm')).status).toBe(404)
  })
})

describe('POST /orgs/:orgId/alert-address-confirmations', () => {
  test('202 after an hour, at most five times in a week; 429 before, 404 without a rule, 409 if confirmed', async () => {
    const { id, again } = await newRule(['fleet@example.com'])
    const { pool } = api.services
    const anHourLater = (hours = 1) =>
      pool.query(
        'UPDATE alert_address SET requested_at = requested_at - make_interval(hours => $2) WHERE organization_id = $1',
        [id, hours],
      )
    await sendConfirmations(worker)
    const early = await again('fleet@example.com')
    expect(early).toMatchObject({ status: 429, body: { code: 'confirmation_too_soon' } })
    expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(3_500)
    for (let sent = 2; sent <= 5; sent++) {
      await anHourLater()
      expect((await again('Fleet@example.com')).status).toBe(202)
      await sendConfirmations(worker)
      expect(smtp.received).toHaveLength(sent)
    }
    await anHourLater()
    expect((await again('fleet@example.com')).status).toBe(429)
    await anHourLater(7 * 24)
    expect((await again('fleet@example.com')).status).toBe(202)
    expect((await again('stranger@example.com')).status).toBe(404)
    await sendConfirmations(worker)
    await answer(linkOf(), 'confirm')
    expect(await again('fleet@example.com')).toMatchObject({ status: 409, body: { code: 'address_confirmed' } })
  })

  test('a repeated request with an Idempotency-Key sends one message', async () => {
    const { id, call } = await newRule(['fleet@example.com'])
    await sendConfirmations(worker)
    await api.services.pool.query(
      "UPDATE alert_address SET requested_at = now() - interval '1 day' WHERE organization_id = $1",
      [id],
    )
    const send = () =>
      call('POST', '/alert-address-confirmations', { email: 'fleet@example.com' }, { 'idempotency-key': 'once' })
    expect((await send()).status).toBe(202)
    const replayed = await send()
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).toEqual([202, 'true'])
    await sendConfirmations(worker)
    expect(smtp.received).toHaveLength(2)
  })
})

test('an organization sends no more messages on a UTC day than its plan allows, and another one is not delayed', async () => {
  nowMs = Date.UTC(2031, 0, 1, 12)
  const emails = Array.from({ length: 4 }, (_, n) => `a${n}@example.com`)
  const { id, call } = await newRule(emails)
  const quota = { ...worker.plans.enterprise, alertMailsPerDay: 3 } as (typeof worker.plans)[string]
  const limited = { ...worker, plans: { ...worker.plans, enterprise: quota } }
  await newRule(['other@example.com'], 'pro')
  await sendConfirmations(limited)
  await sendConfirmations(limited)
  const own = () => receivers().filter((address) => address !== 'other@example.com')
  expect(own()).toHaveLength(3)
  expect(receivers()).toContain('other@example.com')
  nowMs = Date.UTC(2031, 0, 2, 0, 1)
  await sendConfirmations(limited)
  expect(own()).toEqual(emails)

  await api.services.pool.query(
    'UPDATE alert_mail_day SET day = current_date WHERE organization_id = $1 AND sent = 1',
    [id],
  )
  expect((await call('GET', '/usage')).body.alertMails).toEqual({ used: 1, limit: 10_000 })
})

test('409 `limit_reached` when too many addresses wait, on creation and on change', async () => {
  const { call, one } = await newRule(['a@example.com', 'b@example.com'], 'reserved')
  const channels = { emails: ['c@example.com'] }
  for (const refused of [
    await call('POST', '/alert-rules', { name: 'More', condition, channels }),
    await call('PATCH', one, { channels }),
  ]) {
    expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 2, used: 2 } })
  }
  expect((await call('PATCH', one, { channels: { emails: ['b@example.com'] } })).status).toBe(200)
})

describe('POST /orgs/:orgId/alert-address-tests', () => {
  test('202 sends a test, and lastTest has the result; 409 without confirmation or mail server; 404; 429', async () => {
    const { call } = await newRule(['fleet@example.com'])
    const { pool } = api.services
    await pool.query('DELETE FROM mail_server')
    const test = (email = 'Fleet@example.com') => call('POST', '/alert-address-tests', { email })
    expect(await test()).toMatchObject({ status: 409, body: { code: 'address_not_confirmed' } })
    expect((await test('unknown@example.com')).status).toBe(404)
    await pool.query("UPDATE alert_address SET state = 'confirmed', confirmed_by = 'link', next_attempt_at = NULL")
    expect(await test()).toMatchObject({ status: 409, body: { code: 'mail_server_missing' } })
    await reportMailServer(pool)
    expect(await test()).toMatchObject({ status: 202, body: { lastTest: { state: 'waiting', error: null } } })
    expect(await test()).toMatchObject({ status: 429, body: { code: 'test_too_soon' } })
    expect(await sendTestMails(worker)).toBe(1)
    expect(await sendTestMails(worker)).toBe(0)
    expect(smtp.received).toMatchObject([{ to: ['fleet@example.com'], subject: 'Test: alerts of Harbour ferries' }])
    const lastTest = async () => (await call('GET', '/alert-addresses')).body.items[0].lastTest
    expect(await lastTest()).toMatchObject({ state: 'sent', error: null })
    await pool.query("UPDATE alert_address SET test_requested_at = now() - interval '2 minutes'")
    smtp.refuseWith(550)
    await test()
    await sendTestMails(worker)
    smtp.refuseWith(undefined)
    expect(await lastTest()).toMatchObject({ state: 'failed', error: expect.stringContaining('responded with 550') })
  })

  test('a rule with e-mail says that no mail server is set up, also after it was read before', async () => {
    const { pool } = api.services
    await pool.query('DELETE FROM mail_server')
    const { id, key } = await api.newOrganization()
    const rules = `/orgs/${id}/alert-rules`
    const create = (channels: object) =>
      api.call('POST', rules, { token: key, json: { name: 'R', condition, channels } })
    expect((await create({ emails: [] })).body.mailMissing).toBe(false)
    const rule = await create({ emails: ['fleet@example.com'] })
    expect(rule.body.mailMissing).toBe(true)
    await reportMailServer(pool)
    const headers = { 'if-none-match': String(rule.headers.get('etag')) }
    const again = await api.call('GET', `${rules}/${rule.body.id}`, { token: key, headers })
    expect(again).toMatchObject({ status: 200, body: { mailMissing: false } })
  })
})
