import { z } from 'zod'
import { alertKinds, severities } from '#alerts/rules/condition'
import { nearSchema } from '#core/near'
import { instantOut, uuid } from '#core/schemas'
import { actorNameSql } from '#fleet/audit/actor-names'

export const alertStates = ['open', 'acknowledged', 'closed'] as const

/** Why an alert was closed: by a person, or automatically. */
export const closeReasons = [
  'closed_by_user',
  'condition_ended',
  'out_of_scope',
  'rule_changed',
  'rule_disabled',
  'rule_deleted',
] as const
export type CloseReason = (typeof closeReasons)[number]

/** One event that a rule found on a device, or on a webhook. */
export const alertSchema = z
  .object({
    id: uuid(),
    organizationId: uuid(),
    ruleId: uuid().describe('The rule. It can have been deleted since.'),
    ruleName: z.string(),
    kind: z.enum(alertKinds),
    severity: z.enum(severities),
    state: z.enum(alertStates),
    deviceId: uuid()
      .nullable()
      .describe('Null for `webhook_disabled`, which is about a webhook and not about a device.'),
    deviceName: z
      .string()
      .nullable()
      .describe('Null if the device belongs to another organization now, or if the alert is about no device.'),
    since: instantOut().describe('Since when the condition holds.'),
    openedAt: instantOut(),
    measured: z
      .record(z.string(), z.unknown())
      .describe('What was measured when the alert opened, for example `rsrpDbm` or `lastSeenAt`.'),
    near: nearSchema.describe(
      'The town that was nearest to the last position of the device when the alert opened. Null without a position.',
    ),
    acknowledgedAt: instantOut().nullable(),
    acknowledgedBy: z.string().nullable().describe('`key:…`, `person:…` or `user:…`.'),
    acknowledgedByName: z.string().nullable().describe('The name of the person, user or API key; null for others.'),
    closedAt: instantOut().nullable(),
    closedBy: z.string().nullable().describe('`key:…`, `person:…`, `user:…` or `system`.'),
    closedByName: z.string().nullable().describe('The name of the person, user or API key; null for others.'),
    closeReason: z.enum(closeReasons).nullable(),
    comment: z.string().nullable().describe('What a person wrote about the alert.'),
    assignee: z.string().nullable().describe('Who takes care of the alert, as a person wrote it.'),
    endedAt: instantOut().nullable().describe('When the condition ended.'),
  })
  .meta({ id: 'Alert' })

export type Alert = z.infer<typeof alertSchema>

/** The columns of an `Alert`, for SELECT and RETURNING on `alert` named `a`. */
export const alertColumns = `a.id, a.organization_id AS "organizationId", a.rule_id AS "ruleId", a.rule_name AS "ruleName", a.kind,
  a.severity, a.state, a.device_id AS "deviceId",
  (SELECT name FROM device WHERE device.id = a.device_id AND device.organization_id = a.organization_id) AS "deviceName",
  a.since, a.opened_at AS "openedAt", a.measured, a.near, a.acknowledged_at AS "acknowledgedAt", a.acknowledged_by AS "acknowledgedBy",
  ${actorNameSql('a.organization_id', 'a.acknowledged_by')} AS "acknowledgedByName",
  a.closed_at AS "closedAt", a.closed_by AS "closedBy", ${actorNameSql('a.organization_id', 'a.closed_by')} AS "closedByName", a.close_reason AS "closeReason", a.ended_at AS "endedAt",
  a.comment, a.assignee`

/** An alert that was written, which webhooks receive if its rule notifies them. */
export type WrittenAlert = Alert & { notifyWebhooks: boolean }

/** The columns of a `WrittenAlert`, for RETURNING. */
export const writtenColumns = `${alertColumns}, a.notify_webhooks AS "notifyWebhooks"`
