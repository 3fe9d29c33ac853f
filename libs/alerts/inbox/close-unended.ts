import { type AlertRow, alertColumns, type CloseReason } from '#alerts/inbox/alert'
import { publishAlerts } from '#alerts/inbox/publish'
import type { RuleReference } from '#alerts/rules/rule'
import type { Queryable } from '#postgres/pool'

/**
 * SQL that ends alerts: `chosen` is a query of the columns `id` and `reason`. Alerts that a person closed before keep their
 * reason. Returns the rows with `was_closed`.
 */
export const endAlertsSql = (chosen: string): string => `
  WITH chosen AS MATERIALIZED (${chosen}),
  locked AS MATERIALIZED (
    SELECT alert.id, alert.state = 'closed' AS was_closed, chosen.reason
    FROM alert JOIN chosen ON chosen.id = alert.id WHERE alert.ended_at IS NULL ORDER BY alert.id FOR UPDATE OF alert
  )
  UPDATE alert a SET ended_at = now(), state = 'closed', closed_at = coalesce(a.closed_at, now()),
    closed_by = coalesce(a.closed_by, 'system'), close_reason = coalesce(a.close_reason, locked.reason)
  FROM locked WHERE a.id = locked.id
  RETURNING ${alertColumns}, locked.was_closed`

export type EndedRow = AlertRow & { was_closed: boolean }

/** Publishes the alerts that were not closed before they ended. */
export const publishEnded = (connection: Queryable, rows: readonly EndedRow[]): Promise<void> =>
  publishAlerts(
    connection,
    'alert.closed',
    rows.filter(({ was_closed }) => !was_closed),
  )

/** Ends all alerts of a rule, in the caller's transaction. */
export async function closeAlertsOf(
  connection: Queryable,
  { organizationId, ruleId }: RuleReference,
  reason: CloseReason,
): Promise<void> {
  const { rows } = await connection.query<EndedRow>(
    endAlertsSql(
      'SELECT id, $3::text AS reason FROM alert WHERE organization_id = $1 AND rule_id = $2 AND ended_at IS NULL',
    ),
    [organizationId, ruleId, reason],
  )
  await publishEnded(connection, rows)
}
