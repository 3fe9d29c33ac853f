import type { FleetContext } from '#fleet/context'
import { mappedOrganizations } from '#fleet-map/access'
import type { OrganizationWindow } from '#fleet-map/coverage/vote-filters'
import { momentToken, type Revisions } from '#fleet-map/revisions'
import { clockAheadMs } from '#fleet-map/window'

const minuteMs = 60_000
const dayMs = 86_400_000

/** The organizations whose coverage a caller reads, each with the window its plan allows. */
export type CoverageScope = {
  found: Awaited<ReturnType<typeof mappedOrganizations>>
  organizations: OrganizationWindow[]
  askedMs: number
}

/** Determines which organizations' coverage a caller can read and how far back. Throws 404 and 403. */
export async function openCoverage(
  ctx: FleetContext,
  orgId: string | undefined,
  sinceMinutes: number,
): Promise<CoverageScope> {
  const found = await mappedOrganizations(ctx, orgId, ['fleetGps', 'coverage'])
  const askedMs = sinceMinutes * minuteMs
  const organizations = found.map(({ organizationId, historyDays }) => ({
    organizationId,
    windowMs: Math.min(askedMs, historyDays * dayMs),
  }))
  return { found, organizations, askedMs }
}

/**
 * The members `asOf` and `window` of a response whose windows end at `nowMs`. `asOfMs` is the database's time if known,
 * because the clocks of processes differ.
 */
export function answerTime(
  { organizations, askedMs }: CoverageScope,
  revisions: Revisions,
  nowMs: number,
  asOfMs: number = nowMs,
) {
  const longestMs = Math.max(0, ...organizations.map(({ windowMs }) => windowMs))
  return {
    asOf: momentToken({ epoch: revisions.epoch, revision: revisions.current(), timeMs: asOfMs }),
    window: {
      from: new Date(nowMs - longestMs).toISOString(),
      to: new Date(nowMs + clockAheadMs).toISOString(),
      limitedBy: organizations.some(({ windowMs }) => windowMs < askedMs) ? ('plan' as const) : null,
    },
  }
}
