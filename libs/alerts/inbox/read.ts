import { type Alert, type AlertRow, type AlertState, alertColumns, toAlert } from '#alerts/inbox/alert'
import type { Severity } from '#alerts/rules/condition'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

type AlertFilter = {
  /** Alerts in any of these states. */
  state?: readonly AlertState[] | undefined
  ruleId?: string | undefined
  deviceId?: string | undefined
  severity?: Severity | undefined
  /** Alerts that opened at this time or later. */
  since?: Date | undefined
}

export type AlertReference = { organizationId: string; alertId: string }

/** The organization's alerts, newest first (`alert:read`). Throws 404. */
export async function listAlerts(
  ctx: FleetContext,
  { organizationId, filter, page }: { organizationId: string; filter: AlertFilter; page: PageRequest },
): Promise<Page<Alert>> {
  authorize(ctx.principal, organizationId, 'alert:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<AlertRow>(
      `SELECT ${alertColumns} FROM alert a
       WHERE a.organization_id = $1 AND ($2::text[] IS NULL OR a.state = ANY ($2::text[]))
         AND ($3::uuid IS NULL OR a.rule_id = $3) AND ($4::uuid IS NULL OR a.device_id = $4)
         AND ($5::text IS NULL OR a.severity = $5) AND ($6::timestamptz IS NULL OR a.opened_at >= $6)
         AND ($7::uuid IS NULL OR a.id < $7)
       ORDER BY a.id DESC LIMIT $8`,
      [
        organizationId,
        filter.state ?? null,
        filter.ruleId ?? null,
        filter.deviceId ?? null,
        filter.severity ?? null,
        filter.since ?? null,
        page.after ?? null,
        page.limit + 1,
      ],
    )
    return pageOf(rows, page.limit, toAlert)
  })
}

/** The numbers of the organization's alerts that are not closed (`alert:read`). Throws 404. */
export async function countAlerts(
  ctx: FleetContext,
  { organizationId }: { organizationId: string },
): Promise<{ open: number; acknowledged: number }> {
  authorize(ctx.principal, organizationId, 'alert:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<{ open: number; acknowledged: number }>(
      `SELECT count(*) FILTER (WHERE state = 'open')::int AS open,
              count(*) FILTER (WHERE state = 'acknowledged')::int AS acknowledged
       FROM alert WHERE organization_id = $1 AND state IN ('open', 'acknowledged')`,
      [organizationId],
    )
    return rows[0] ?? { open: 0, acknowledged: 0 }
  })
}

/** One alert (`alert:read`). Throws 404. */
export async function getAlert(ctx: FleetContext, reference: AlertReference): Promise<Alert> {
  await authorizeObject(ctx, reference.organizationId, 'alert:read', 'alert', reference.alertId)
  return tenantTransaction(ctx, [reference.organizationId], async (connection) =>
    toAlert(await readAlert(connection, reference)),
  )
}

/** Reads an alert, for verbs that have authorized the caller. `lock` locks the row. Throws 404. */
export async function readAlert(
  db: Queryable,
  { organizationId, alertId }: AlertReference,
  { lock = false } = {},
): Promise<AlertRow> {
  const { rows } = await db.query<AlertRow>(
    `SELECT ${alertColumns} FROM alert a WHERE a.organization_id = $1 AND a.id = $2${lock ? ' FOR UPDATE' : ''}`,
    [organizationId, isUuid(alertId) ? alertId : null],
  )
  if (!rows[0]) throw notFound('alert', alertId)
  return rows[0]
}
