import { type AlertSystem, type RuleSlice, sliceValues } from '#alerts/evaluation/changes'
import { watchedSql } from '#alerts/evaluation/scope'
import { named } from '#postgres/named'
import type { Connection } from '#postgres/pool'

/**
 * Stores on which side of their rule's place devices are now, if that is new or has changed, in the caller's transaction. The
 * first observation of a device is not a crossing.
 */
export async function updateSides(connection: Connection, { plans }: AlertSystem, slice: RuleSlice): Promise<void> {
  await connection.query(
    named(
      `INSERT INTO alert_side (rule_id, device_id, organization_id, inside, since, crossed)
     SELECT rule_id, device_id, organization_id, inside, since, false FROM (
       SELECT r.id AS rule_id, d.id AS device_id, r.organization_id, d.last_fix_at AS since, s.inside AS known,
         place_contains(p, d.last_lat, d.last_lon) AS inside
       ${watchedSql(
         ['entered_place', 'left_place'],
         `JOIN place p ON p.organization_id = r.organization_id AND p.id = r.place_id
          LEFT JOIN alert_side s ON s.rule_id = r.id AND s.device_id = d.id`,
       )} AND d.last_lat IS NOT NULL AND d.last_lon IS NOT NULL AND d.last_fix_at IS NOT NULL
     ) seen WHERE known IS DISTINCT FROM inside
     ON CONFLICT (rule_id, device_id) DO UPDATE SET inside = excluded.inside, since = excluded.since, crossed = true
       WHERE alert_side.inside <> excluded.inside`,
      sliceValues(plans, slice),
    ),
  )
}
