import { isDeepStrictEqual } from 'node:util'
import { registerAddresses } from '#alerts/addresses/request'
import { closeAlertsOf } from '#alerts/inbox/close-unended'
import {
  type AlertRule,
  type RuleReference,
  type RuleRevision,
  type RuleSettings,
  readRule,
  revisionColumns,
  ruleAccess,
  settingsColumns,
  settingsOf,
  settingsValues,
  toRevision,
} from '#alerts/rules/rule'
import { badRequest, notFound } from '#core/errors'
import { newId } from '#core/ids'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { changeObject, createObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** `precondition` receives the present rule and may throw 412. */
type RuleDeletion = RuleReference & { precondition: (current: RuleRevision) => void }

type RuleChange = { [Name in keyof RuleSettings]?: RuleSettings[Name] | undefined }

/**
 * Creates an alert rule (`alert:write`). New addresses receive a link with which their owner confirms them; `pageUrl` is where
 * the page is. Throws 402, 404 for a group, place or chat channel that the organization does not have, and 409 `limit_reached`.
 */
export async function createAlertRule(
  ctx: FleetContext,
  { organizationId, settings, pageUrl }: { organizationId: string; settings: RuleSettings; pageUrl?: string },
): Promise<RuleRevision> {
  return createObject(ctx, { scope: 'alert:write', organizationId }, async (connection) => {
    requireNoDevices(settings)
    await requireTargets(connection, organizationId, settings)
    await requireChannels(connection, organizationId, settings.channels.chats)
    await registerAddresses(ctx, connection, { organizationId, emails: settings.channels.emails, pageUrl })
    const id = newId()
    const row = await queryEntity<AlertRule & { revision: string }>(
      connection,
      `INSERT INTO alert_rule (organization_id, id, ${settingsColumns}, created_at, updated_at)
       VALUES ($organizationId, $id, ${settingsValues}, uuid_extract_timestamp($id), uuid_extract_timestamp($id))
       RETURNING ${revisionColumns}`,
      { organizationId, id, ...settingsOf(settings) },
    )
    const detail = { name: settings.name, kind: settings.condition.kind }
    await auditObject(ctx, connection, 'alert_rule.created', { organizationId, id }, detail)
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'alertRules' })
    return toRevision(row)
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
  const object = ruleAccess(reference, 'alert:write')
  return changeObject(ctx, object, async (connection) => {
    const current = await readRule(connection, reference)
    const present = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const settings: RuleSettings = { ...current.rule, ...present }
    // Callers that do not know of chat channels keep them.
    settings.channels = { ...settings.channels, chats: change.channels?.chats ?? current.rule.channels.chats }
    requireNoDevices(settings)
    await requireTargets(connection, organizationId, change)
    await requireChannels(connection, organizationId, change.channels?.chats)
    precondition(current)
    await registerAddresses(ctx, connection, { organizationId, emails: change.channels?.emails ?? [], pageUrl })
    const row = await queryEntity<AlertRule & { revision: string }>(
      connection,
      `UPDATE alert_rule SET (${settingsColumns}) = ROW (${settingsValues}), revision = revision + 1, updated_at = now()
       WHERE organization_id = $organizationId AND id = $ruleId RETURNING ${revisionColumns}`,
      { organizationId, ruleId, ...settingsOf(settings) },
    )
    if (!isDeepStrictEqual(watchedBy(settings), watchedBy(current.rule))) {
      for (const observations of ['alert_side', 'alert_baseline'])
        await connection.query(`DELETE FROM ${observations} WHERE organization_id = $1 AND rule_id = $2`, [
          organizationId,
          ruleId,
        ])
      await closeAlertsOf(connection, reference, settings.enabled ? 'rule_changed' : 'rule_disabled')
    }
    await auditObject(ctx, connection, 'alert_rule.updated', object, { name: row.name, fields: Object.keys(present) })
    return toRevision(row)
  })
}

/** Deletes an alert rule and closes its alerts (`alert:write`). Throws 404 and 402. */
export async function deleteAlertRule(ctx: FleetContext, { precondition, ...reference }: RuleDeletion): Promise<void> {
  const { organizationId, ruleId } = reference
  const object = ruleAccess(reference, 'alert:write')
  await changeObject(ctx, object, async (connection) => {
    const current = await readRule(connection, reference)
    precondition(current)
    await connection.query('DELETE FROM alert_rule WHERE organization_id = $1 AND id = $2', [organizationId, ruleId])
    await closeAlertsOf(connection, reference, 'rule_deleted')
    await auditObject(ctx, connection, 'alert_rule.deleted', object, { name: current.rule.name })
  })
}

/** What decides which alerts a rule has. */
const watchedBy = ({ enabled, condition, groupId, tags }: RuleSettings) => [enabled, condition, groupId, tags]

/** Throws 400 for a rule that is about no devices and names a group or tags. */
function requireNoDevices({ condition, groupId, tags }: RuleSettings): void {
  if (condition.kind !== 'webhook_disabled' || (groupId === null && tags.length === 0)) return
  const detail = 'A rule about webhooks has neither a group nor tags.'
  throw badRequest(detail, [{ pointer: groupId === null ? '/tags' : '/groupId', code: 'not_about_devices', detail }])
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

/** Locks chat channels, so that they are not deleted before the commit. Throws 404 for one that the organization does not have. */
async function requireChannels(db: Queryable, organizationId: string, ids: readonly string[] = []): Promise<void> {
  if (ids.length === 0) return
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM chat_channel WHERE organization_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR SHARE',
    [organizationId, ids],
  )
  const missing = ids.find((id) => !rows.some((row) => row.id === id))
  if (missing !== undefined) throw notFound('chat channel', missing)
}
