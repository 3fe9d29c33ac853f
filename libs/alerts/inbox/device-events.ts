import type { DeviceEvent, EventQuery } from '#fleet/devices/events'
import type { Queryable } from '#postgres/pool'

type AlertEventRow = {
  id: string
  action: string
  at: Date
  by: string | null
  rule_id: string
  rule_name: string
  kind: string
  severity: string
  close_reason: string | null
}

/** When alerts of a device were opened, acknowledged and closed: the newest `limit` at or before a time. */
export async function alertEvents(
  db: Queryable,
  { organizationId, deviceId, untilMs, limit }: EventQuery,
): Promise<DeviceEvent[]> {
  const { rows } = await db.query<AlertEventRow>(
    `SELECT a.id, e.action, e.at, e.by, a.rule_id, a.rule_name, a.kind, a.severity,
       CASE WHEN e.action = 'closed' THEN a.close_reason END AS close_reason
     FROM alert a CROSS JOIN LATERAL (VALUES
       ('opened', a.opened_at, 'system'), ('acknowledged', a.acknowledged_at, a.acknowledged_by),
       ('closed', a.closed_at, a.closed_by)) AS e (action, at, by)
     WHERE a.organization_id = $1 AND a.device_id = $2 AND e.at < $3
     ORDER BY e.at DESC LIMIT $4`,
    [organizationId, deviceId, new Date(untilMs + 1), limit],
  )
  return rows.map((row) => ({
    id: `alert:${row.id}:${row.action}`,
    atMs: row.at.getTime(),
    kind: 'alert',
    action: row.action,
    by: row.by,
    detail: {
      alertId: row.id,
      ruleId: row.rule_id,
      ruleName: row.rule_name,
      condition: row.kind,
      severity: row.severity,
      ...(row.close_reason === null ? {} : { closeReason: row.close_reason }),
    },
  }))
}
