import { createAlertRule } from '#alerts/rules/change'
import type { AlertCondition } from '#alerts/rules/condition'
import type { AlertRule, RuleSettings } from '#alerts/rules/rule'
import type { FleetContext } from '#fleet/context'

/** Creates an alert rule for all devices of an organization, unless the settings say otherwise. Its addresses are confirmed. */
export async function newAlertRule(
  { ctx, organizationId }: { ctx: FleetContext; organizationId: string },
  condition: AlertCondition,
  settings: Partial<RuleSettings> = {},
): Promise<AlertRule> {
  const { rule } = await createAlertRule(ctx, {
    organizationId,
    settings: {
      name: `Rule ${condition.kind}`,
      enabled: true,
      severity: 'warning',
      condition,
      groupId: null,
      tags: [],
      channels: { webhook: true, emails: [] },
      quietHours: null,
      ...settings,
    },
  })
  await ctx.pool.query(
    `UPDATE alert_address SET state = 'confirmed', confirmed_by = 'link', next_attempt_at = NULL
     WHERE organization_id = $1 AND state = 'waiting'`,
    [organizationId],
  )
  return rule
}
