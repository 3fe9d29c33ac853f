import {
  type AlertRule,
  type RuleReference,
  type RuleRevision,
  type RuleRow,
  readRule,
  ruleColumns,
  toRule,
} from '#alerts/rules/rule'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'

/** The organization's alert rules, newest first (`alert:read`). Throws 404. */
export async function listAlertRules(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<AlertRule>> {
  authorize(ctx.principal, organizationId, 'alert:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<RuleRow>(
      `SELECT ${ruleColumns} FROM alert_rule
       WHERE organization_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toRule)
  })
}

/** One alert rule (`alert:read`). Throws 404. */
export async function getAlertRule(ctx: FleetContext, reference: RuleReference): Promise<RuleRevision> {
  await authorizeObject(ctx, reference.organizationId, 'alert:read', 'alert rule', reference.ruleId)
  return tenantTransaction(ctx, [reference.organizationId], (connection) => readRule(connection, reference))
}
