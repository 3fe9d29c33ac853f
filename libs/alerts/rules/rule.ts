import { z } from 'zod'
import { unconfirmedEmailSchema, unconfirmedEmailsSql } from '#alerts/addresses/address'
import { conditionJson, conditionSchema, conditionValues, severities } from '#alerts/rules/condition'
import { notFound } from '#core/errors'
import { instantOut, text, uuid } from '#core/schemas'
import type { Scope } from '#fleet/access/scopes'
import { windowSchema } from '#fleet/jobs/model/schedule'
import { hasMailServerSql } from '#messages/mail-server'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export const alertRuleSchema = z
  .object({
    id: uuid(),
    name: text(),
    enabled: z.boolean().describe('Disabling a rule closes its alerts.'),
    severity: z.enum(severities),
    condition: conditionSchema,
    groupId: uuid().nullable().describe('Only devices of this group; null for all devices.'),
    tags: z.array(z.string()),
    channels: z.object({
      webhook: z.boolean(),
      emails: z.array(z.string()),
      chats: z.array(uuid()).describe('Ids of chat channels.'),
    }),
    quietHours: windowSchema
      .nullable()
      .describe('E-mail and chat messages are sent after these hours. The inbox and webhooks do not wait.'),
    unconfirmedEmails: z
      .array(unconfirmedEmailSchema)
      .describe(
        'The addresses of `channels.emails` that receive no alerts, because their owner has not confirmed them.',
      ),
    mailMissing: z
      .boolean()
      .describe(
        'The rule names e-mail addresses, but no worker with a mail server (`SMTP_URL`) has run in the last five minutes.',
      ),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'AlertRule' })

export type AlertRule = z.infer<typeof alertRuleSchema>

/** The parts of a rule that a caller sets. A device must have all `tags`. */
export type RuleSettings = Omit<
  AlertRule,
  'id' | 'channels' | 'unconfirmedEmails' | 'mailMissing' | 'createdAt' | 'updatedAt'
> & { channels: { webhook: boolean; emails: string[]; chats?: string[] | undefined } }

/** A rule with its revision, which is its entity tag. */
export type RuleRevision = { rule: AlertRule; revision: string }

export type RuleReference = { organizationId: string; ruleId: string }

export const ruleAccess = ({ organizationId, ruleId }: RuleReference, scope: Scope) =>
  ({ scope, noun: 'alert rule', organizationId, id: ruleId }) as const

/** The columns of an `AlertRule`, for SELECT and RETURNING. */
export const ruleColumns = `id, name, enabled, severity, ${conditionJson} AS condition, group_id AS "groupId", tags,
  json_build_object('webhook', notify_webhooks, 'emails', emails, 'chats', chat_channel_ids) AS channels,
  emails <> '{}' AND NOT ${hasMailServerSql} AS "mailMissing",
  ${unconfirmedEmailsSql} AS "unconfirmedEmails", quiet_hours AS "quietHours",
  created_at AS "createdAt", updated_at AS "updatedAt"`

/** The columns of a `RuleRevision`, as a row that `toRevision` takes. */
export const revisionColumns = `${ruleColumns}, revision`

export const toRevision = ({ revision, ...rule }: AlertRule & { revision: string }): RuleRevision => ({
  rule,
  revision,
})

/** The columns that a caller sets, and their values from the parameters of `settingsOf`. */
export const settingsColumns = `name, enabled, severity, kind, for_minutes, threshold, place_id, period, group_id, tags,
  notify_webhooks, emails, chat_channel_ids, quiet_hours`
export const settingsValues = `$name, $enabled, $severity, ${conditionValues('$condition::jsonb')}, $groupId, $tags,
  $webhook, $emails, $chats, $quietHours`

export const settingsOf = ({ condition, channels, quietHours, ...settings }: RuleSettings) => ({
  name: settings.name,
  enabled: settings.enabled,
  severity: settings.severity,
  condition,
  groupId: settings.groupId,
  tags: settings.tags,
  webhook: channels.webhook,
  emails: channels.emails,
  chats: channels.chats ?? [],
  quietHours,
})

/** Reads a rule, for verbs that have authorized the caller. Throws 404. */
export async function readRule(db: Queryable, { organizationId, ruleId }: RuleReference): Promise<RuleRevision> {
  const [row] = await queryEntities<AlertRule & { revision: string }>(
    db,
    `SELECT ${revisionColumns} FROM alert_rule WHERE organization_id = $organizationId AND id = $ruleId`,
    { organizationId, ruleId },
  )
  if (!row) throw notFound('alert rule', ruleId)
  return toRevision(row)
}
