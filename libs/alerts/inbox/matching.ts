import type { Alert } from '#alerts/inbox/alert'
import type { FleetContext } from '#fleet/context'
import { findEffectiveGroup, isEffectiveMemberSql } from '#fleet/groups/effective-members'
import type { Queryable } from '#postgres/pool'

/** `groupId`: alerts of the devices that are effective members of this group now. */
export type OriginFilter = {
  deviceId?: string | undefined
  groupId?: string | undefined
  ruleId?: string | undefined
}

/**
 * `state`: alerts in any of these states; `since` and `until`: alerts that opened at this time or later, and at this time or
 * earlier.
 */
export type AlertFilter = OriginFilter & {
  state?: readonly Alert['state'][] | undefined
  assignee?: string | undefined
  severity?: Alert['severity'] | undefined
  since?: Date | undefined
  until?: Date | undefined
}

/** A condition over alert `a`, and its parameters. */
type Matching = { condition: string; values: Record<string, unknown> }

/** The condition that an alert of the organization is of this rule and about one of these devices. Throws 404 for an unknown group. */
export async function alertsFrom(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  { organizationId, deviceId, groupId, ruleId }: OriginFilter & { organizationId: string },
): Promise<Matching> {
  const own = `a.organization_id = $organizationId AND ($deviceId::uuid IS NULL OR a.device_id = $deviceId)
    AND ($ruleId::uuid IS NULL OR a.rule_id = $ruleId)`
  const values = { organizationId, deviceId, ruleId }
  if (groupId === undefined) return { condition: own, values }
  const { smartTags } = await findEffectiveGroup(ctx, db, { organizationIds: [organizationId], groupId })
  const isMember = `EXISTS (SELECT FROM device d
    WHERE d.id = a.device_id AND d.organization_id = a.organization_id AND ${isEffectiveMemberSql})`
  return { condition: `${own} AND ${isMember}`, values: { ...values, groupId, smartTags } }
}

/** The condition that an alert of the organization matches a filter. Throws 404 for an unknown group. */
export async function matchingAlerts(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  { organizationId, filter }: { organizationId: string; filter: AlertFilter },
): Promise<Matching> {
  const { state, assignee, severity, since, until, ...origin } = filter
  const { condition, values } = await alertsFrom(ctx, db, { organizationId, ...origin })
  return {
    condition: `${condition} AND ($states::text[] IS NULL OR a.state = ANY ($states::text[]))
      AND ($assignee::text IS NULL OR a.assignee = $assignee) AND ($severity::text IS NULL OR a.severity = $severity)
      AND ($since::timestamptz IS NULL OR a.opened_at >= $since)
      AND ($until::timestamptz IS NULL OR a.opened_at < $until::timestamptz + interval '1 millisecond')`,
    values: { ...values, states: state, assignee, severity, since, until },
  }
}
