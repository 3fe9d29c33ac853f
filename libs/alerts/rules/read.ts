import {
  type AlertRule,
  type RuleReference,
  type RuleRevision,
  readRule,
  ruleAccess,
  ruleColumns,
} from '#alerts/rules/rule'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'

/** The organization's alert rules, newest first (`alert:read`). Throws 404. */
export const listAlertRules = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<AlertRule>> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, (connection) =>
    queryPage(
      connection,
      `SELECT ${ruleColumns} FROM alert_rule
       WHERE organization_id = $organizationId AND ($after::uuid IS NULL OR id < $after) ORDER BY id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

/** One alert rule (`alert:read`). Throws 404. */
export const getAlertRule = (ctx: FleetContext, reference: RuleReference): Promise<RuleRevision> =>
  withObject(ctx, ruleAccess(reference, 'alert:read'), (connection) => readRule(connection, reference))
