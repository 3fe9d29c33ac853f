import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWebhook } from '#fleet/webhooks/webhooks'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { startSmtp, type TestSmtp } from '#test/smtp'
import { until } from '#test/until'
import { startWorkerProcess } from '#test/worker-process'

let database: TestDatabase
let pool: OwnedPool
let smtp: TestSmtp

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'worker-alerts.test' })
  smtp = await startSmtp()
})
afterAll(async () => {
  await smtp.close()
  await pool.end()
  await database.drop()
})

const deviceCount = 25_000

test('each event opens one alert, one delivery and one message, with two workers of which one is killed', async () => {
  const fleet = await createJobFleet(pool, deviceCount)
  const { ctx, organizationId } = fleet
  await createWebhook(ctx, { organizationId, url: 'https://hooks.invalid/', events: ['alert.opened', 'alert.closed'] })
  await newAlertRule(
    fleet,
    { kind: 'offline', forMinutes: 30 },
    { channels: { webhook: true, emails: ['a@example.com'] } },
  )
  await pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE organization_id = $1", [
    organizationId,
  ])
  const mail = { SMTP_URL: smtp.smtpUrl.reveal(), MAIL_FROM: 'alerts@example.com' }
  const start = () => startWorkerProcess({ postgresUrl: database.url }, mail)
  const [killed, survivor] = await Promise.all([start(), start()])
  const alerts = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM alert')
    return rows[0]?.count ?? 0
  }
  await until('some alerts', async () => (await alerts()) > 0, 120_000)
  await killed.end('SIGKILL')
  await until('all alerts', async () => (await alerts()) === deviceCount, 120_000)
  await until(
    'all events are relayed',
    async () => (await pool.query('SELECT FROM outbox_event')).rowCount === 0,
    120_000,
  )
  const { rows } = await pool.query(
    `SELECT type, count(*)::int AS events, count(DISTINCT payload ->> 'deviceId')::int AS devices
     FROM webhook_delivery GROUP BY type`,
  )
  expect(rows).toEqual([{ type: 'alert.opened', events: deviceCount, devices: deviceCount }])
  await until('the message', async () => {
    // The worker that was killed may have claimed it. Its lease of five minutes ends now.
    await pool.query('UPDATE alert_mail SET next_attempt_at = now() WHERE attempt > 0 AND sent_at IS NULL')
    return smtp.received.length > 0
  })
  // A worker that is killed while it sends may send again: the same message, which a mailbox recognizes.
  const messages = smtp.received.map(({ to, raw }) => `${to} ${/^Message-ID: (.+)$/im.exec(raw)?.[1]}`)
  expect([...new Set(messages)]).toEqual([expect.stringMatching(/^a@example\.com <.+>/)])
  await survivor.end('SIGTERM')
}, 300_000)

test('a worker with SMTP_URL and without MAIL_FROM does not start', async () => {
  const start = startWorkerProcess({ postgresUrl: database.url }, { SMTP_URL: 'smtp://127.0.0.1:9' })
  await expect(start).rejects.toThrow('SMTP_URL: set it together with MAIL_FROM')
})
