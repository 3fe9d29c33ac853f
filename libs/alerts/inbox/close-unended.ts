import { type CloseReason, type WrittenAlert, writtenColumns } from '#alerts/inbox/alert'
import { publishAlerts } from '#alerts/inbox/publish'
import type { RuleReference } from '#alerts/rules/rule'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/**
 * Ends the alerts that a query chooses, in the caller's transaction. `chosen` has the columns `id` and `reason`. Publishes those
 * that a person had not closed before; the others keep their reason. Returns how many alerts ended.
 */
export async function endChosen(
  connection: Queryable,
  chosen: string,
  values: Readonly<Record<string, unknown>>,
): Promise<number> {
  const ended = await queryEntities<WrittenAlert & { wasClosed: boolean }>(
    connection,
    `WITH chosen AS MATERIALIZED (${chosen}),
     locked AS MATERIALIZED (
       SELECT alert.id, alert.state = 'closed' AS was_closed, chosen.reason
       FROM alert JOIN chosen ON chosen.id = alert.id WHERE alert.ended_at IS NULL ORDER BY alert.id FOR UPDATE OF alert
     )
     UPDATE alert a SET ended_at = now(), state = 'closed', closed_at = coalesce(a.closed_at, now()),
       closed_by = coalesce(a.closed_by, 'system'), close_reason = coalesce(a.close_reason, locked.reason)
     FROM locked WHERE a.id = locked.id
     RETURNING ${writtenColumns}, locked.was_closed AS "wasClosed"`,
    values,
  )
  const closed = ended.flatMap(({ wasClosed, ...alert }) => (wasClosed ? [] : [alert]))
  await publishAlerts(connection, 'alert.closed', closed)
  return ended.length
}

/** Ends all alerts of a rule, in the caller's transaction. */
export const closeAlertsOf = (connection: Queryable, rule: RuleReference, reason: CloseReason): Promise<number> =>
  endChosen(
    connection,
    `SELECT id, $reason::text AS reason FROM alert
     WHERE organization_id = $organizationId AND rule_id = $ruleId AND ended_at IS NULL`,
    { ...rule, reason },
  )
