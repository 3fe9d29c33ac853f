import { registerAddresses } from '#alerts/addresses/request'
import { closeAlertsOf } from '#alerts/inbox/close-unended'
import { toColumns } from '#alerts/rules/condition'
import {
  type RuleReference,
  type RuleRevision,
  type RuleRow,
  type RuleSettings,
  readRule,
  ruleColumns,
  toRuleRevision,
} from '#alerts/rules/rule'
import { notFound } from '#core/errors'
import { newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

/** `precondition` receives the present rule and may throw 412. */
type RuleDeletion = RuleReference & { precondition: (current: RuleRevision) => void }

type RuleChange = { [Name in keyof RuleSettings]?: RuleSettings[Name] | undefined }

/**
 * Creates an alert rule (`alert:write`). New addresses receive a link with which their owner confirms them; `pageUrl` is where
 * the page is. Throws 402, 404 for a group or place that the organization does not have, and 409 `limit_reached`.
 */
export async function createAlertRule(
  ctx: FleetContext,
  { organizationId, settings, pageUrl }: { organizationId: string; settings: RuleSettings; pageUrl?: string },
): Promise<RuleRevision> {
  authorize(ctx.principal, organizationId, 'alert:write')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    await requireTargets(connection, organizationId, settings)
    await registerAddresses(ctx, connection, { organizationId, emails: settings.channels.emails, pageUrl })
    const id = newId()
    const { rows } = await connection.query<RuleRow>(
      `INSERT INTO alert_rule (organization_id, id, name, enabled, severity, kind, for_minutes, threshold, place_id, period,
         group_id, tags, notify_webhooks, emails, quiet_hours, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
         uuid_extract_timestamp($2), uuid_extract_timestamp($2)) RETURNING ${ruleColumns}`,
      [organizationId, id, ...valuesOf(settings)],
    )
    await auditRule(ctx, connection, { organizationId, ruleId: id }, 'alert_rule.created', {
      name: settings.name,
      kind: settings.condition.kind,
    })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'alertRules' })
    return revisionOf(rows)
  })
}

/**
 * Changes an alert rule (`alert:write`). A change of the condition or of the devices, or disabling the rule, closes its
 * alerts and starts over. Throws 404, 402, and 409 `limit_reached` for new addresses.
 */
export async function updateAlertRule(
  ctx: FleetContext,
  { precondition, change, pageUrl, ...reference }: RuleDeletion & { change: RuleChange; pageUrl?: string },
): Promise<RuleRevision> {
  const { organizationId, ruleId } = reference
  await authorizeObject(ctx, organizationId, 'alert:write', 'alert rule', ruleId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const current = await readRule(connection, reference, { lock: true })
    await requireActiveSubscription(ctx, connection, organizationId)
    const present = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const settings: RuleSettings = { ...current.rule, ...present }
    await requireTargets(connection, organizationId, change)
    precondition(current)
    await registerAddresses(ctx, connection, { organizationId, emails: change.channels?.emails ?? [], pageUrl })
    const { rows } = await connection.query<RuleRow>(
      `UPDATE alert_rule SET name = $3, enabled = $4, severity = $5, kind = $6, for_minutes = $7, threshold = $8, place_id = $9,
         period = $10, group_id = $11, tags = $12, notify_webhooks = $13, emails = $14, quiet_hours = $15,
         revision = revision + 1, updated_at = now()
       WHERE organization_id = $1 AND id = $2 RETURNING ${ruleColumns}`,
      [organizationId, ruleId, ...valuesOf(settings)],
    )
    if (watches(settings) !== watches(current.rule)) {
      await connection.query('DELETE FROM alert_side WHERE organization_id = $1 AND rule_id = $2', [
        organizationId,
        ruleId,
      ])
      await closeAlertsOf(connection, reference, settings.enabled ? 'rule_changed' : 'rule_disabled')
    }
    await auditRule(ctx, connection, reference, 'alert_rule.updated', { fields: Object.keys(present) })
    return revisionOf(rows)
  })
}

/** Deletes an alert rule and closes its alerts (`alert:write`). Throws 404 and 402. */
export async function deleteAlertRule(ctx: FleetContext, { precondition, ...reference }: RuleDeletion): Promise<void> {
  const { organizationId, ruleId } = reference
  await authorizeObject(ctx, organizationId, 'alert:write', 'alert rule', ruleId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const current = await readRule(connection, reference, { lock: true })
    await requireActiveSubscription(ctx, connection, organizationId)
    precondition(current)
    await connection.query('DELETE FROM alert_rule WHERE organization_id = $1 AND id = $2', [organizationId, ruleId])
    await closeAlertsOf(connection, reference, 'rule_deleted')
    await auditRule(ctx, connection, reference, 'alert_rule.deleted', { name: current.rule.name })
  })
}

/** What decides which alerts a rule has. */
const watches = ({ enabled, condition, groupId, tags }: RuleSettings): string =>
  JSON.stringify([enabled, toColumns(condition), groupId, tags])

function valuesOf(settings: RuleSettings): unknown[] {
  const { name, enabled, severity, condition, groupId, tags, channels, quietHours } = settings
  const { kind, for_minutes, threshold, place_id, period } = toColumns(condition)
  return [
    ...[name, enabled, severity, kind, for_minutes, threshold, place_id, period, groupId, tags],
    ...[channels.webhook, channels.emails, quietHours && JSON.stringify(quietHours)],
  ]
}

async function requireTargets(
  db: Queryable,
  organizationId: string,
  { condition, groupId = null }: RuleChange,
): Promise<void> {
  const placeId = condition && 'placeId' in condition ? condition.placeId : null
  const { rows } = await db.query<{ has_group: boolean; has_place: boolean }>(
    `SELECT EXISTS (SELECT FROM device_group WHERE organization_id = $1 AND id = $2) AS has_group,
            EXISTS (SELECT FROM place WHERE organization_id = $1 AND id = $3) AS has_place`,
    [organizationId, groupId, placeId],
  )
  if (groupId !== null && !rows[0]?.has_group) throw notFound('group', groupId)
  if (placeId !== null && !rows[0]?.has_place) throw notFound('place', placeId)
}

function revisionOf([row]: readonly RuleRow[]): RuleRevision {
  if (!row) throw new Error('The alert rule was not written.')
  return toRuleRevision(row)
}

const auditRule = (
  ctx: FleetContext,
  db: Queryable,
  { organizationId, ruleId }: RuleReference,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> =>
  auditCaller(ctx, db, { organizationId, action, subjectType: 'alert_rule', subjectId: ruleId, detail })
