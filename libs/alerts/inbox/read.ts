import { type Alert, alertColumns } from '#alerts/inbox/alert'
import { type AlertFilter, matchingAlerts } from '#alerts/inbox/matching'
import { notFound } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export type AlertReference = { organizationId: string; alertId: string }

/** The organization's alerts, newest first (`alert:read`). Throws 404, also for an unknown group. */
export const listAlerts = (
  ctx: FleetContext,
  { organizationId, filter, page }: { organizationId: string; filter: AlertFilter; page: PageRequest },
): Promise<Page<Alert>> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, async (connection) => {
    const { condition, values } = await matchingAlerts(ctx, connection, { organizationId, filter })
    return queryPage(
      connection,
      `SELECT ${alertColumns} FROM alert a WHERE ${condition} AND ($after::uuid IS NULL OR a.id < $after)
       ORDER BY a.id DESC LIMIT $limit`,
      values,
      page,
    )
  })

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
