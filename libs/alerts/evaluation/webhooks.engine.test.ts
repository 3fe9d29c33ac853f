import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { countAlerts } from '#alerts/inbox/count'
import { alertEventSchemas } from '#alerts/inbox/event-payloads'
import { listAlerts } from '#alerts/inbox/read'
import { readNotified, sentenceOf, subjectOf } from '#alerts/inbox/sentence'
import { updateAlertRule } from '#alerts/rules/change'
import { listAlertRules } from '#alerts/rules/read'
import { createWatchedWebhook } from '#alerts/rules/watched-webhook'
import { createWebhookRounds } from '#fleet/webhooks/rounds'
import { changeWebhook, deleteWebhook } from '#fleet/webhooks/webhooks'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import type { AlertSystem } from './changes.ts'
import { evaluateStored } from './stored.ts'

let database: TestDatabase
let pool: OwnedPool
let system: AlertSystem

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'webhook-alerts.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const page = { limit: 10, after: undefined }

const newWebhook = ({ ctx, organizationId }: JobFleet, host = 'hooks.example.com') =>
  createWatchedWebhook(ctx, { organizationId, url: `https://${host}/in?secret`, events: ['device.created'] })

/** Sends an event of each webhook of the organization to a receiver that is gone. */
async function deliverToNobody({ ctx, organizationId }: JobFleet): Promise<void> {
  await pool.query(
    `INSERT INTO outbox_event (id, organization_id, type, payload) VALUES (uuidv7(), $1, 'device.created', '{}')`,
    [organizationId],
  )
  const sender = {
    send: async () => ({ delivered: false as const, reason: 'the receiver responded with 410', status: 410 }),
    close: async () => {},
  }
  const raise = (error: unknown) => {
    throw error
  }
  const rounds = createWebhookRounds({ pool, keyring: ctx.keyring, sender, clock: () => Date.now() + 60_000 }, raise)
  while ((await rounds.next()) > 0) await rounds.settle()
  // The clock above is ahead, so that the delivery is due.
  await pool.query('UPDATE webhook SET disabled_at = now() WHERE disabled_at IS NOT NULL')
}

/** Evaluates the rules twice, because the second time must change nothing. Returns the alerts, newest first. */
async function evaluated({ ctx, organizationId }: JobFleet) {
  await evaluateStored(system)
  expect(await evaluateStored(system)).toBe(0)
  return (await listAlerts(ctx, { organizationId, filter: {}, page })).items
}

const rulesOf = async ({ ctx, organizationId }: JobFleet) => (await listAlertRules(ctx, { organizationId, page })).items

test('the first webhook brings a rule with the channels of the other rules, and the second none', async () => {
  const fleet = await createJobFleet(pool, 0)
  const channels = { webhook: true, emails: ['Fleet@example.com', 'night@example.com'] }
  await newAlertRule(fleet, { kind: 'offline', forMinutes: 5 }, { channels })
  await pool.query(
    "UPDATE alert_address SET state = 'refused', confirmed_by = NULL WHERE address = 'night@example.com'",
  )
  await newWebhook(fleet)
  await newWebhook(fleet)
  const [rule, ...others] = await rulesOf(fleet)
  expect(others).toHaveLength(1)
  expect(rule).toMatchObject({
    name: 'Webhook disabled',
    enabled: true,
    severity: 'warning',
    condition: { kind: 'webhook_disabled', forMinutes: 0 },
    channels: { webhook: true, emails: ['fleet@example.com'], chats: [] },
  })
})

test('an alert opens when the service disables a webhook, with its events, and closes when a person enables it', async () => {
  const fleet = await createJobFleet(pool, 0)
  const { ctx, organizationId } = fleet
  const { id: webhookId } = await newWebhook(fleet)
  expect(await evaluated(fleet)).toEqual([])
  await deliverToNobody(fleet)
  const [alert] = await evaluated(fleet)
  expect(alert).toMatchObject({
    kind: 'webhook_disabled',
    state: 'open',
    deviceId: null,
    deviceName: null,
    measured: { webhookId, webhook: 'hooks.example.com', reason: 'The receiver responded with 410 Gone.' },
  })
  const notified = await readNotified(pool, [alert?.id ?? ''])
  expect(notified.map(sentenceOf)).toEqual([
    expect.stringMatching(/^webhook disabled since 20\S+ \d\d:\d\d UTC: The receiver responded with 410 Gone\.$/),
  ])
  expect([subjectOf(notified, 1), subjectOf(notified, 2)]).toEqual(['hooks.example.com', '2 webhooks'])
  await changeWebhook(ctx, { organizationId, webhookId, enabled: true })
  expect(await evaluated(fleet)).toMatchObject([{ id: alert?.id, state: 'closed', closeReason: 'condition_ended' }])
  const { rows } = await pool.query<{ type: keyof typeof alertEventSchemas; payload: unknown }>(
    "SELECT type, payload FROM outbox_event WHERE organization_id = $1 AND type LIKE 'alert.%' ORDER BY id",
    [organizationId],
  )
  expect(rows.map(({ type }) => type)).toEqual(['alert.opened', 'alert.closed'])
  for (const { type, payload } of rows) {
    expect(z.strictObject(alertEventSchemas[type].shape).safeParse(payload)).toMatchObject({ success: true })
  }
})

test('an alert is sent to the addresses and the inbox of the organization', async () => {
  const fleet = await createJobFleet(pool, 0)
  const { ctx, organizationId } = fleet
  const channels = { webhook: true, emails: ['fleet@example.com'] }
  await newAlertRule(fleet, { kind: 'offline', forMinutes: 5 }, { channels })
  await newWebhook(fleet)
  await deliverToNobody(fleet)
  await evaluated(fleet)
  expect(await countAlerts(ctx, { organizationId })).toMatchObject({ open: 1, bySeverity: { warning: { open: 1 } } })
  const { rows } = await pool.query('SELECT address, alert_count FROM alert_mail WHERE organization_id = $1', [
    organizationId,
  ])
  expect(rows).toEqual([{ address: 'fleet@example.com', alert_count: 1 }])
})

test('no alert opens for a webhook that a person disabled, or of another organization', async () => {
  const [fleet, other] = [await createJobFleet(pool, 0), await createJobFleet(pool, 0)]
  const { id: webhookId } = await newWebhook(fleet)
  await newWebhook(other)
  await changeWebhook(fleet.ctx, { organizationId: fleet.organizationId, webhookId, enabled: false })
  await deliverToNobody(other)
  expect(await evaluated(fleet)).toEqual([])
  expect(await evaluated(other)).toMatchObject([{ organizationId: other.organizationId, state: 'open' }])
})

test('an alert closes when its webhook is deleted, and when its rule is disabled', async () => {
  const fleet = await createJobFleet(pool, 0)
  const { ctx, organizationId } = fleet
  const { id: webhookId } = await newWebhook(fleet)
  await newWebhook(fleet, 'second.example.com')
  await deliverToNobody(fleet)
  expect(await evaluated(fleet)).toMatchObject([{ state: 'open' }, { state: 'open' }])
  await deleteWebhook(ctx, { organizationId, webhookId })
  const closed = (await evaluated(fleet)).filter(({ state }) => state === 'closed')
  expect(closed).toMatchObject([{ measured: { webhookId }, closeReason: 'condition_ended' }])
  const [rule] = await rulesOf(fleet)
  const change = { change: { enabled: false }, precondition: () => {} }
  await updateAlertRule(ctx, { organizationId, ruleId: rule?.id ?? '', ...change })
  const reasons = (await evaluated(fleet)).map(({ closeReason }) => closeReason).sort()
  expect(reasons).toEqual(['condition_ended', 'rule_disabled'])
})

test('rules about devices do not end the alerts of webhooks, and have none', async () => {
  const fleet = await createJobFleet(pool, 0)
  await newAlertRule(fleet, { kind: 'offline', forMinutes: 5 }, { tags: ['truck'] })
  await newWebhook(fleet)
  await deliverToNobody(fleet)
  expect(await evaluated(fleet)).toMatchObject([{ kind: 'webhook_disabled', state: 'open' }])
})
