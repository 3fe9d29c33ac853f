import { type UnconfirmedEmail, unconfirmedEmailsSql } from '#alerts/addresses/address'
import { type Condition, type ConditionColumns, type Severity, toCondition } from '#alerts/rules/condition'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import type { Window } from '#fleet/jobs/model/schedule'
import type { Queryable } from '#postgres/pool'

/** The parts of a rule that a caller sets. */
export type RuleSettings = {
  name: string
  enabled: boolean
  severity: Severity
  condition: Condition
  /** Null: all devices of the organization. */
  groupId: string | null
  /** A device must have all of them. */
  tags: string[]
  channels: { webhook: boolean; emails: string[] }
  /** E-mail waits for the end of this window. */
  quietHours: Window | null
}

export type AlertRule = RuleSettings & {
  id: string
  /** The addresses of `channels.emails` that receive no alerts. */
  unconfirmedEmails: UnconfirmedEmail[]
  createdAt: string
  updatedAt: string
}

/** A rule with its revision, which is its entity tag. */
export type RuleRevision = { rule: AlertRule; revision: string }

export type RuleReference = { organizationId: string; ruleId: string }

export type RuleRow = ConditionColumns & {
  id: string
  name: string
  enabled: boolean
  severity: Severity
  group_id: string | null
  tags: string[]
  notify_webhooks: boolean
  emails: string[]
  unconfirmed_emails: UnconfirmedEmail[]
  quiet_hours: Window | null
  revision: string
  created_at: Date
  updated_at: Date
}

export const ruleColumns = `id, name, enabled, severity, kind, for_minutes, threshold, place_id, period, group_id, tags,
  notify_webhooks, emails, quiet_hours, revision, created_at, updated_at, ${unconfirmedEmailsSql} AS unconfirmed_emails`

export const toRule = (row: RuleRow): AlertRule => ({
  id: row.id,
  name: row.name,
  enabled: row.enabled,
  severity: row.severity,
  condition: toCondition(row),
  groupId: row.group_id,
  tags: row.tags,
  channels: { webhook: row.notify_webhooks, emails: row.emails },
  unconfirmedEmails: row.unconfirmed_emails,
  quietHours: row.quiet_hours,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

export const toRuleRevision = (row: RuleRow): RuleRevision => ({ rule: toRule(row), revision: row.revision })

/** Reads a rule, for verbs that have authorized the caller. `lock` locks the row until the transaction ends. Throws 404. */
export async function readRule(
  db: Queryable,
  { organizationId, ruleId }: RuleReference,
  { lock = false } = {},
): Promise<RuleRevision> {
  const { rows } = await db.query<RuleRow>(
    `SELECT ${ruleColumns} FROM alert_rule WHERE organization_id = $1 AND id = $2${lock ? ' FOR UPDATE' : ''}`,
    [organizationId, isUuid(ruleId) ? ruleId : null],
  )
  if (!rows[0]) throw notFound('alert rule', ruleId)
  return toRuleRevision(rows[0])
}
