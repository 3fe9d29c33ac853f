import type { FleetContext } from '#fleet/context'
import { type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import { momentToken, type Revisions } from '#fleet-map/revisions'
import {
  inPast,
  type OrganizationWindow,
  type PlanWindows,
  pastRange,
  planWindows,
  windowsOf,
  windowView,
} from '#fleet-map/window'

/** The organizations whose coverage a caller reads, each with the window that its plan allows. */
export type CoverageScope = {
  found: MappedOrganization[]
  organizations: OrganizationWindow[]
  limitedBy: PlanWindows<unknown>['limitedBy']
}

type CoverageQuery = {
  orgId?: string | undefined
  sinceMinutes: number
  from?: Date | undefined
  to?: Date | undefined
}

/** Determines which organizations' coverage a caller can read, and its time. Throws 404, 403, and 400 for a wrong window. */
export async function openCoverage(
  ctx: FleetContext,
  { orgId, sinceMinutes, ...range }: CoverageQuery,
): Promise<CoverageScope> {
  const past = pastRange(range)
  const found = await mappedOrganizations(ctx, orgId, ['fleetGps', 'coverage'])
  const { organizations, limitedBy } = inPast(planWindows(found, sinceMinutes), past, ctx.clock())
  return { found, organizations: windowsOf(organizations), limitedBy }
}

/**
 * The members `asOf` and `window` of a response whose windows end at `nowMs`. `asOfMs` is the database's time if known,
 * because the clocks of processes differ.
 */
export const answerTime = (scope: CoverageScope, revisions: Revisions, nowMs: number, asOfMs: number = nowMs) => ({
  asOf: momentToken({ epoch: revisions.epoch, revision: revisions.current(), timeMs: asOfMs }),
  window: windowView(scope, nowMs),
})
