import { createAlertRule } from '#alerts/rules/change'
import type { Condition } from '#alerts/rules/condition'
import type { AlertRule, RuleSettings } from '#alerts/rules/rule'
import type { FleetContext } from '#fleet/context'

/** Creates an alert rule for all devices of an organization, unless the settings say otherwise. */
export async function newAlertRule(
  { ctx, organizationId }: { ctx: FleetContext; organizationId: string },
  condition: Condition,
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
  return rule
}
