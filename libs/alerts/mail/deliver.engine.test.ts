import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { evaluateStored } from '#alerts/evaluation/stored'
import { Secret } from '#core/secret'
import { mailRetryDelaysMs } from '#messages/mail-worker'
import { createMailer, type Mailer } from '#messages/mailer'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { recordedRounds } from '#test/recorded-rounds'
import { startSmtp, type TestSmtp } from '#test/smtp'
import { sendMails } from './deliver.ts'

let database: TestDatabase
let pool: OwnedPool
let system: AlertSystem
let smtp: TestSmtp
let mailer: Mailer
let nowMs: number

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'alert-mail.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
  smtp = await startSmtp()
  mailer = createMailer({ smtpUrl: smtp.smtpUrl, from: 'Routerfleet <alerts@example.com>' })
})
afterAll(async () => {
  mailer.close()
  await smtp.close()
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  // Ahead of the database's clock, so that every new message is due.
  nowMs = Date.now() + 60_000
  smtp.received.length = 0
  smtp.refuseWith(undefined)
  await pool.query('DELETE FROM alert_rule')
})

const worker = (through = mailer) => ({ pool, plans: system.plans, clock: () => nowMs, mailer: through })
const send = (through = mailer) => sendMails(worker(through))
const emails = (...addresses: string[]) => ({ channels: { webhook: true, emails: addresses } })
const offline = { kind: 'offline', forMinutes: 30 } as const
const dumpMails = async () => (await pool.query('SELECT * FROM alert_mail ORDER BY id')).rows

async function silenceAll({ organizationId }: JobFleet): Promise<void> {
  await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE organization_id = $1", [
    organizationId,
  ])
  await evaluateStored(system)
}

test('one message per rule and address names the devices; another worker does not send it again', async () => {
  const fleet = await createJobFleet(pool, 60)
  await newAlertRule(fleet, offline, {
    name: 'Ferries offline',
    severity: 'critical',
    ...emails('fleet@example.com', 'night@example.com'),
  })
  await silenceAll(fleet)
  await Promise.all([send(), send(), send()])
  await send()
  expect(smtp.received.map(({ to }) => to.join()).sort()).toEqual(['fleet@example.com', 'night@example.com'])
  const [{ raw, subject } = { raw: '', subject: '' }] = smtp.received
  expect(subject).toBe('[critical] Ferries offline: 60 devices')
  expect(raw).toMatch(/^From: Routerfleet <alerts@example.com>\r$/m)
  expect(raw).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(raw).toMatch(/^Message-ID: <[0-9a-f-]{36}@example.com>\r$/im)
  expect(raw).toContain('60 alerts opened.')
  expect(raw.match(/^- Router \d+: no report since \d{4}-\d\d-\d\d \d\d:\d\d UTC/gm)).toHaveLength(50)
  expect(raw).toContain('- and 10 more')
})

test('alerts that open while a message waits, or within five minutes of the last one, share a message', async () => {
  const fleet = await createJobFleet(pool, 3)
  const [first = '', second = '', third = ''] = fleet.deviceIds
  await newAlertRule(fleet, offline, emails('fleet@example.com'))
  const silence = async (deviceId: string) => {
    await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
    await evaluateStored(system)
  }
  await silence(first)
  await silence(second)
  await send()
  expect(smtp.received.map(({ subject }) => subject)).toEqual(['[warning] Rule offline: 2 devices'])
  await silence(third)
  await send()
  expect(smtp.received).toHaveLength(1)
  nowMs += 5 * 60_000
  await send()
  expect(smtp.received.map(({ subject }) => subject)).toEqual([
    '[warning] Rule offline: 2 devices',
    '[warning] Rule offline: Router 3',
  ])
})

test('alerts that open while a message is sent wait for the next one too', async () => {
  const fleet = await createJobFleet(pool, 2)
  const [first, second] = fleet.deviceIds
  await newAlertRule(fleet, offline, emails('fleet@example.com'))
  const silence = async (deviceId?: string) => {
    await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
    await evaluateStored(system)
  }
  await silence(first)
  const slow: Mailer = {
    send: async (message) => {
      await silence(second)
      return mailer.send(message)
    },
    close: () => {},
  }
  await send(slow)
  await send()
  expect(smtp.received.map(({ subject }) => subject)).toEqual(['[warning] Rule offline: Router 1'])
  nowMs += 5 * 60_000
  await send()
  expect(smtp.received.map(({ subject }) => subject)).toContain('[warning] Rule offline: Router 2')
})

test('quiet hours delay the message but not the inbox', async () => {
  const fleet = await createJobFleet(pool, 1)
  const zone = 'Asia/Kolkata'
  nowMs = Math.max(nowMs, Date.UTC(2031, 0, 1, 20, 0))
  // 20:00 UTC is 01:30 in Kolkata.
  const quietHours = { from: '22:00', to: '06:00', timeZone: zone }
  await newAlertRule(fleet, offline, { ...emails('fleet@example.com'), quietHours })
  await silenceAll(fleet)
  const { rows } = await pool.query('SELECT state FROM alert WHERE organization_id = $1', [fleet.organizationId])
  expect(rows).toEqual([{ state: 'open' }])
  await send()
  nowMs = Date.UTC(2031, 0, 2, 0, 29)
  await send()
  expect(smtp.received).toEqual([])
  nowMs = Date.UTC(2031, 0, 2, 0, 31)
  await send()
  expect(smtp.received).toHaveLength(1)
})

test('retries with growing delays and the same Message-ID, and gives up after the last one', async () => {
  const fleet = await createJobFleet(pool, 1)
  await newAlertRule(fleet, offline, emails('fleet@example.com'))
  await silenceAll(fleet)
  smtp.refuseWith(451)
  for (const delayMs of mailRetryDelaysMs) {
    await send()
    nowMs += delayMs - 1
    expect(await send()).toBe(0)
    nowMs += 1
  }
  smtp.refuseWith(undefined)
  await send()
  expect(smtp.received).toHaveLength(1)
  expect(smtp.received[0]?.raw).toContain((await dumpMails())[0].id)

  await pool.query('UPDATE alert_mail SET sent_at = NULL, next_attempt_at = now(), attempt = $1', [
    mailRetryDelaysMs.length,
  ])
  smtp.refuseWith(451)
  await send()
  nowMs += 24 * 3_600_000
  expect(await send()).toBe(0)
  expect(await dumpMails()).toMatchObject(
    [{ sent_at: null, failed_at: expect.any(Date), last_error: /451/ }].map((row) => ({
      ...row,
      last_error: expect.stringContaining('451'),
    })),
  )
})

test('an address that the server refuses for good is not tried again; an unreachable server is', async () => {
  const fleet = await createJobFleet(pool, 1)
  await newAlertRule(fleet, offline, emails('gone@example.com'))
  await silenceAll(fleet)
  const dead = createMailer({ smtpUrl: new Secret('smtp://127.0.0.1:9'), from: 'alerts@example.com' })
  await send(dead)
  dead.close()
  expect(await dumpMails()).toMatchObject([{ sent_at: null, failed_at: null, attempt: 1 }])
  nowMs += mailRetryDelaysMs[0] ?? 0
  smtp.refuseWith(550)
  await send()
  expect(await dumpMails()).toMatchObject([{ sent_at: null, failed_at: expect.any(Date), attempt: 2 }])
})

test('a message whose worker was killed is sent by another one after the lease', async () => {
  const fleet = await createJobFleet(pool, 1)
  await newAlertRule(fleet, offline, emails('fleet@example.com'))
  await silenceAll(fleet)
  const killed: Mailer = { send: () => Promise.reject(new Error('killed')), close: () => {} }
  await expect(send(killed)).rejects.toThrow('killed')
  expect(await send()).toBe(0)
  nowMs += 5 * 60_000
  await send()
  expect(smtp.received).toHaveLength(1)
})

test('names with line breaks add neither headers nor recipients', async () => {
  const fleet = await createJobFleet(pool, 1)
  const evil = 'x\r\nBcc: victim@example.com\r\n\r\nbody'
  const { id } = await newAlertRule(fleet, offline, { name: evil, ...emails('fleet@example.com') })
  await pool.query('UPDATE device SET name = $2 WHERE organization_id = $1', [fleet.organizationId, evil])
  await silenceAll(fleet)
  await pool.query('UPDATE alert_mail SET address = $2 WHERE rule_id = $1', [id, 'a@example.com,b@example.com'])
  await send()
  await pool.query("UPDATE alert_mail SET address = 'fleet@example.com', next_attempt_at = now(), failed_at = NULL")
  await send()
  for (const { to, raw } of smtp.received) {
    expect(to).toHaveLength(1)
    expect(raw).not.toMatch(/^Bcc:/im)
  }
  expect(smtp.received.at(-1)?.to).toEqual(['fleet@example.com'])
})

test('organizations take turns: many messages of one do not delay that of another', async () => {
  const [large, fleet] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  const addresses = Array.from({ length: 45 }, (_, index) => `${index}@example.com`)
  await newAlertRule(large, offline, emails(...addresses))
  await silenceAll(large)
  await newAlertRule(fleet, offline, emails('fleet@example.org'))
  await silenceAll(fleet)
  const { rounds } = recordedRounds()
  const next = () => sendMails(worker(), rounds)
  const sentTo = () => smtp.received.map(({ to }) => to.join()).sort()
  expect(await next()).toBeLessThan(25)
  expect(sentTo()).toContain('fleet@example.org')
  while ((await next()) > 0);
  expect(sentTo()).toEqual([...addresses, 'fleet@example.org'].sort())
})

test('an organization whose quiet hours cannot be read does not stop the messages of another', async () => {
  const [broken, fleet] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  await newAlertRule(broken, offline, emails('broken@example.com'))
  await newAlertRule(fleet, offline, emails('fleet@example.org'))
  await silenceAll(broken)
  await silenceAll(fleet)
  await pool.query(
    `UPDATE alert_rule SET quiet_hours = '{"from": "22:00", "to": "06:00", "timeZone": "Mars/Olympus"}'
     WHERE organization_id = $1`,
    [broken.organizationId],
  )
  const { rounds, failed } = recordedRounds()
  await sendMails(worker(), rounds)
  expect(smtp.received.map(({ to }) => to.join())).toEqual(['fleet@example.org'])
  expect(failed).toEqual([broken.organizationId])
})

test('a message whose outcome cannot be stored is reported with its organization', async () => {
  const fleet = await createJobFleet(pool, 1)
  await newAlertRule(fleet, offline, emails('fleet@example.com'))
  await silenceAll(fleet)
  const killed: Mailer = { send: () => Promise.reject(new Error('killed')), close: () => {} }
  const { rounds, failed } = recordedRounds()
  expect(await sendMails(worker(killed), rounds)).toBe(1)
  expect(failed).toEqual([fleet.organizationId])
})

test('messages beyond the daily quota wait for the next UTC day; a failed attempt does not count', async () => {
  const fleet = await createJobFleet(pool, 2)
  const [first = '', second = ''] = fleet.deviceIds
  await newAlertRule(fleet, offline, emails('fleet@example.com', 'night@example.com'))
  const silence = async (deviceId: string) => {
    await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
    await evaluateStored(system)
  }
  const plans = Object.fromEntries(
    Object.entries(system.plans).map(([name, plan]) => [name, { ...plan, alertMailsPerDay: 1 }]),
  )
  const sendOne = () => sendMails({ ...worker(), plans })
  nowMs = Date.UTC(2031, 0, 1, 12)
  await silence(first)
  smtp.refuseWith(451)
  await sendOne()
  smtp.refuseWith(undefined)
  nowMs += mailRetryDelaysMs[0] ?? 0
  await sendOne()
  await sendOne()
  expect(smtp.received).toHaveLength(1)
  await silence(second)
  nowMs = Date.UTC(2031, 0, 2)
  await sendOne()
  expect(smtp.received).toHaveLength(2)
  nowMs = Date.UTC(2031, 0, 3)
  await sendOne()
  expect(new Set(smtp.received.map(({ to }) => to.join()))).toEqual(new Set(['fleet@example.com', 'night@example.com']))
})
