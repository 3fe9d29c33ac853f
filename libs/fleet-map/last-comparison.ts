import { z } from 'zod'
import { instantOut } from '#core/schemas'
import type { FleetContext } from '#fleet/context'
import { isEffectiveMemberSql } from '#fleet/groups/effective-members'
import { type DeviceQuery, mappedOrganizations, queriedGroup } from '#fleet-map/access'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** The time that the last comparison covers. */
export const comparedWindowSchema = z.object({ from: instantOut(), to: instantOut() })

/** When the last comparison of an organization's devices ended and what time it covered. */
export type LastComparison = { asOf: string | null; window: { from: string; to: string } | null }

/** The plan features that a comparison needs. */
export const comparisonFeatures = ['fleetGps', 'coverage'] as const

/** The newest comparison of these organizations. */
export async function lastComparison(
  connection: Connection,
  organizationIds: readonly string[],
): Promise<LastComparison> {
  const [run] = await queryEntities<{ asOf: string; from: string; to: string }>(
    connection,
    `SELECT finished_at AS "asOf", window_from AS "from", window_to AS "to" FROM radio_health_run
     WHERE organization_id = ANY ($organizationIds::uuid[]) AND finished_at IS NOT NULL
     ORDER BY finished_at DESC LIMIT 1`,
    { organizationIds },
  )
  return run ? { asOf: run.asOf, window: { from: run.from, to: run.to } } : { asOf: null, window: null }
}

export type ComparedQuery = Pick<DeviceQuery, 'orgId' | 'groupId' | 'tag'> & {
  /** Leaves out organizations whose last comparison ended before. */
  sinceMinutes: number
}

/** The organizations of a query, and its conditions on device `d` and comparison `run` in SQL with their named values. */
export type ComparedDevices = {
  organizationIds: string[]
  conditions: string
  values: Record<string, unknown>
}

/** The devices of the caller's organizations that a query is about (`fleet:read`). Throws 404 and 403. */
export async function comparedDevices(
  ctx: FleetContext,
  { orgId, groupId, tag, sinceMinutes }: ComparedQuery,
): Promise<ComparedDevices> {
  const found = await mappedOrganizations(ctx, orgId, comparisonFeatures)
  const group = await queriedGroup(ctx, found, groupId)
  const organizationIds = found
    .map(({ organizationId }) => organizationId)
    .filter((id) => group === undefined || id === group.organizationId)
  const member = group === undefined ? '' : `AND ${isEffectiveMemberSql}`
  const ofGroup = group && { organizationId: group.organizationId, groupId: group.id, smartTags: group.smartTags }
  return {
    organizationIds,
    conditions: `d.organization_id = ANY ($organizationIds::uuid[]) AND d.tags @> $tags::text[] ${member}
         AND run.finished_at >= now() - make_interval(mins => $sinceMinutes::int)`,
    values: { organizationIds, tags: tag ?? [], sinceMinutes, ...ofGroup },
  }
}
