import type { DeviceEvent, EventQuery } from '#fleet/devices/events'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** When alerts of a device were opened, acknowledged and closed: the newest `limit` at or before a time. */
export const alertEvents = (
  db: Queryable,
  { organizationId, deviceId, untilMs, limit }: EventQuery,
): Promise<DeviceEvent[]> =>
  queryEntities(
    db,
    `SELECT format('alert:%s:%s', a.id, e.action) AS id,
       (extract(epoch FROM date_trunc('milliseconds', e.at)) * 1000)::float8 AS "atMs", 'alert' AS kind, e.action, e.by,
       json_strip_nulls(json_build_object('alertId', a.id, 'ruleId', a.rule_id, 'ruleName', a.rule_name, 'condition', a.kind,
         'severity', a.severity, 'placeName', a.measured->'placeName', 'near', a.near, 'closeReason', CASE WHEN e.action = 'closed' THEN a.close_reason END)) AS detail
     FROM alert a CROSS JOIN LATERAL (VALUES
       ('opened', a.opened_at, 'system'), ('acknowledged', a.acknowledged_at, a.acknowledged_by),
       ('closed', a.closed_at, a.closed_by)) AS e (action, at, by)
     WHERE a.organization_id = $organizationId AND a.device_id = $deviceId AND e.at < $until
     ORDER BY e.at DESC LIMIT $limit`,
    { organizationId, deviceId, until: new Date(untilMs + 1), limit },
  )
