import type { AlertKind, Severity } from '#alerts/rules/condition'

export const alertStates = ['open', 'acknowledged', 'closed'] as const
export type AlertState = (typeof alertStates)[number]

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

/** One event that a rule found on a device. Times are RFC 3339. */
export type Alert = {
  id: string
  organizationId: string
  ruleId: string
  ruleName: string
  kind: AlertKind
  severity: Severity
  state: AlertState
  deviceId: string
  deviceName: string | null
  /** Since when the condition holds. */
  since: string
  openedAt: string
  /** What was measured when the alert opened, with units in the names. */
  measured: Record<string, unknown>
  acknowledgedAt: string | null
  acknowledgedBy: string | null
  closedAt: string | null
  closedBy: string | null
  closeReason: CloseReason | null
  /** When the condition ended. */
  endedAt: string | null
}

export type AlertRow = {
  id: string
  organization_id: string
  rule_id: string
  rule_name: string
  kind: AlertKind
  severity: Severity
  notify_webhooks: boolean
  device_id: string
  device_name: string | null
  state: AlertState
  since: Date
  measured: Record<string, unknown>
  opened_at: Date
  acknowledged_at: Date | null
  acknowledged_by: string | null
  closed_at: Date | null
  closed_by: string | null
  close_reason: CloseReason | null
  ended_at: Date | null
}

/** The columns of an `AlertRow`, for SELECT and RETURNING on `alert` named `a`. */
export const alertColumns = `a.id, a.organization_id, a.rule_id, a.rule_name, a.kind, a.severity, a.notify_webhooks,
  a.device_id, (SELECT name FROM device WHERE device.id = a.device_id AND device.organization_id = a.organization_id)
    AS device_name,
  a.state, a.since, a.measured, a.opened_at, a.acknowledged_at, a.acknowledged_by, a.closed_at, a.closed_by,
  a.close_reason, a.ended_at`

export const toAlert = (row: AlertRow): Alert => ({
  id: row.id,
  organizationId: row.organization_id,
  ruleId: row.rule_id,
  ruleName: row.rule_name,
  kind: row.kind,
  severity: row.severity,
  state: row.state,
  deviceId: row.device_id,
  deviceName: row.device_name,
  since: row.since.toISOString(),
  openedAt: row.opened_at.toISOString(),
  measured: row.measured,
  acknowledgedAt: row.acknowledged_at?.toISOString() ?? null,
  acknowledgedBy: row.acknowledged_by,
  closedAt: row.closed_at?.toISOString() ?? null,
  closedBy: row.closed_by,
  closeReason: row.close_reason,
  endedAt: row.ended_at?.toISOString() ?? null,
})
