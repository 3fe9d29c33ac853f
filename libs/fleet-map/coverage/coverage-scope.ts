import type { FleetContext } from '#fleet/context'
import { type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import { momentToken, type Revisions } from '#fleet-map/revisions'
import { type OrganizationWindow, type PlanWindows, planWindows, windowsOf, windowView } from '#fleet-map/window'

/** The organizations whose coverage a caller reads, each with the window that its plan allows. */
export type CoverageScope = {
  found: MappedOrganization[]
  organizations: OrganizationWindow[]
  limitedBy: PlanWindows<unknown>['limitedBy']
}

/** Determines which organizations' coverage a caller can read and how far back. Throws 404 and 403. */
export async function openCoverage(
  ctx: FleetContext,
  { orgId, sinceMinutes }: { orgId?: string | undefined; sinceMinutes: number },
): Promise<CoverageScope> {
  const found = await mappedOrganizations(ctx, orgId, ['fleetGps', 'coverage'])
  const { organizations, limitedBy } = planWindows(found, sinceMinutes)
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
