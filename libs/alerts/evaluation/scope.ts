import type { AlertKind } from '#alerts/rules/condition'

/**
 * SQL condition: rule `r` applies to device `d` of organization `o`. Here and below, statements have the parameters
 * of `sliceValues`.
 */
const appliesSql = `d.status <> 'disabled' AND d.tags @> r.tags AND (
  r.group_id IS NULL
  OR EXISTS (SELECT FROM device_group_member m
      WHERE m.organization_id = r.organization_id AND m.group_id = r.group_id AND m.device_id = d.id)
  OR o.plan = ANY ($smartTagPlans::text[]) AND EXISTS (SELECT FROM device_group g
      WHERE g.organization_id = r.organization_id AND g.id = r.group_id AND g.smart_tags && d.tags))`

/** SQL: organization `o` of rule `r`, unless its subscription is suspended or cancelled. Its alerts then do not change. */
export const organizationSql = `JOIN organization o ON o.id = r.organization_id
  AND o.subscription_status NOT IN ('suspended', 'cancelled')`

const ofKinds = (kinds: readonly AlertKind[]) => `r.kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')})`

/** SQL condition: alert `a` is of a rule of the slice and has not ended. */
export const unendedOfSlice =
  'a.ended_at IS NULL AND a.organization_id = ANY ($organizationIds::uuid[]) AND a.rule_id = ANY ($ruleIds::uuid[])'

/** SQL: FROM and WHERE that yield each enabled rule `r` of these kinds in the slice with each device `d` to which it applies. */
export const watchedSql = (kinds: readonly AlertKind[], join = ''): string =>
  `FROM alert_rule r ${organizationSql} JOIN device d ON d.organization_id = r.organization_id ${join}
   WHERE r.organization_id = ANY ($organizationIds::uuid[]) AND r.id = ANY ($ruleIds::uuid[]) AND r.enabled AND ${ofKinds(kinds)} AND ${appliesSql}`

/** SQL: FROM and WHERE that yield each alert `a` of these kinds in the slice that has not ended, with rule `r` and device `d`. */
export const unendedSql = (kinds: readonly AlertKind[], join = ''): string =>
  `FROM alert a JOIN alert_rule r ON r.id = a.rule_id ${organizationSql}
     JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id ${join}
   WHERE ${unendedOfSlice} AND r.enabled AND ${ofKinds(kinds)}`

/** SQL: alerts of the slice that have not ended although no rule watches their device any more, with the reason. */
export const outOfScopeSql = `
  SELECT a.id, CASE WHEN r.id IS NULL THEN 'rule_deleted' WHEN NOT r.enabled THEN 'rule_disabled' ELSE 'out_of_scope' END
    AS reason
  FROM alert a
    JOIN organization o ON o.id = a.organization_id
    LEFT JOIN alert_rule r ON r.id = a.rule_id
    LEFT JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id
  WHERE ${unendedOfSlice} AND (r.id IS NULL OR NOT r.enabled
    OR a.device_id IS NOT NULL AND (d.id IS NULL OR NOT (${appliesSql})))`
