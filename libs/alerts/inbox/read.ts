import { type Alert, alertColumns } from '#alerts/inbox/alert'
import { notFound } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** `state`: alerts in any of these states; `since`: alerts that opened at this time or later. */
type AlertFilter = {
  state?: readonly Alert['state'][] | undefined
  ruleId?: string | undefined
  deviceId?: string | undefined
  severity?: Alert['severity'] | undefined
  since?: Date | undefined
}

export type AlertReference = { organizationId: string; alertId: string }

/** The organization's alerts, newest first (`alert:read`). Throws 404. */
export const listAlerts = (
  ctx: FleetContext,
  { organizationId, filter, page }: { organizationId: string; filter: AlertFilter; page: PageRequest },
): Promise<Page<Alert>> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, (connection) =>
    queryPage(
      connection,
      `SELECT ${alertColumns} FROM alert a
       WHERE a.organization_id = $organizationId AND ($states::text[] IS NULL OR a.state = ANY ($states::text[]))
         AND ($ruleId::uuid IS NULL OR a.rule_id = $ruleId) AND ($deviceId::uuid IS NULL OR a.device_id = $deviceId)
         AND ($severity::text IS NULL OR a.severity = $severity)
         AND ($since::timestamptz IS NULL OR a.opened_at >= $since) AND ($after::uuid IS NULL OR a.id < $after)
       ORDER BY a.id DESC LIMIT $limit`,
      {
        organizationId,
        states: filter.state,
        ruleId: filter.ruleId,
        deviceId: filter.deviceId,
        severity: filter.severity,
        since: filter.since,
      },
      page,
    ),
  )

/** The numbers of the organization's alerts that are not closed (`alert:read`). Throws 404. */
export const countAlerts = (
  ctx: FleetContext,
  { organizationId }: { organizationId: string },
): Promise<{ open: number; acknowledged: number }> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, (connection) =>
    queryEntity(
      connection,
      `SELECT count(*) FILTER (WHERE state = 'open')::int AS open,
              count(*) FILTER (WHERE state = 'acknowledged')::int AS acknowledged
       FROM alert WHERE organization_id = $organizationId AND state IN ('open', 'acknowledged')`,
      { organizationId },
    ),
  )

/** One alert (`alert:read`). Throws 404. */
export const getAlert = (ctx: FleetContext, reference: AlertReference): Promise<Alert> =>
  withObject(ctx, alertAccess(reference, 'alert:read'), (connection) => readAlert(connection, reference))

export const alertAccess = ({ organizationId, alertId }: AlertReference, scope: Scope) =>
  ({ scope, noun: 'alert', organizationId, id: alertId }) as const

/** Reads an alert, for verbs that have authorized the caller. `lock` locks the row. Throws 404. */
export async function readAlert(
  db: Queryable,
  { organizationId, alertId }: AlertReference,
  { lock = false } = {},
): Promise<Alert> {
  const [alert] = await queryEntities<Alert>(
    db,
    `SELECT ${alertColumns} FROM alert a
     WHERE a.organization_id = $organizationId AND a.id = $alertId${lock ? ' FOR UPDATE' : ''}`,
    { organizationId, alertId },
  )
  if (!alert) throw notFound('alert', alertId)
  return alert
}
