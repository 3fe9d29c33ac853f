import { z } from 'zod'
import type { Alert } from '#alerts/inbox/alert'
import { alertsFrom, type OriginFilter } from '#alerts/inbox/matching'
import { severities } from '#alerts/rules/condition'
import { organizationsWith } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { inOrganization } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

const unhandled = { open: z.int(), acknowledged: z.int() }

/** The numbers of alerts that are not closed, in total and by severity. */
export const alertCountsSchema = z
  .object({ ...unhandled, bySeverity: z.record(z.enum(severities), z.object(unhandled)) })
  .meta({ id: 'AlertCounts' })

type AlertCounts = z.infer<typeof alertCountsSchema>

/** The numbers of an organization's alerts that are not closed (`alert:read`). Throws 404, also for an unknown group. */
export const countAlerts = (
  ctx: FleetContext,
  { organizationId, ...origin }: OriginFilter & { organizationId: string },
): Promise<AlertCounts> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, async (connection) => {
    const { condition, values } = await alertsFrom(ctx, connection, { organizationId, ...origin })
    return countWhere(connection, condition, values)
  })

/** The numbers of alerts that are not closed in all organizations in which the caller holds `alert:read`. Throws 403. */
export async function countAllAlerts(ctx: FleetContext): Promise<AlertCounts> {
  const organizations = organizationsWith(ctx.principal, 'alert:read')
  return countWhere(ctx.pool, '($organizationIds::uuid[] IS NULL OR a.organization_id = ANY ($organizationIds))', {
    organizationIds: organizations === 'all' ? null : organizations,
  })
}

type SeverityCount = { severity: Alert['severity']; open: number; acknowledged: number }

async function countWhere(
  db: Queryable,
  condition: string,
  values: Readonly<Record<string, unknown>>,
): Promise<AlertCounts> {
  const rows = await queryEntities<SeverityCount>(
    db,
    `SELECT a.severity, count(*) FILTER (WHERE a.state = 'open')::int AS open,
       count(*) FILTER (WHERE a.state = 'acknowledged')::int AS acknowledged
     FROM alert a WHERE a.state IN ('open', 'acknowledged') AND ${condition} GROUP BY a.severity`,
    values,
  )
  const of = (wanted: Alert['severity']) => {
    const { open = 0, acknowledged = 0 } = rows.find(({ severity }) => severity === wanted) ?? {}
    return { open, acknowledged }
  }
  return {
    open: rows.reduce((sum, { open }) => sum + open, 0),
    acknowledged: rows.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
    bySeverity: { info: of('info'), warning: of('warning'), critical: of('critical') },
  }
}
