import type { FleetContext } from '#fleet/context'
import { type DeviceQuery, queriedGroup } from '#fleet-map/access'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import type { SignalTrends } from '#fleet-map/coverage/signal-trends'
import type { Revisions } from '#fleet-map/revisions'
import type { Reader } from '#questdb/copies/readers'

type SignalTrendQuery = Omit<DeviceQuery, 'bbox'> & {
  sinceMinutes: number
  rat?: string | undefined
  plmn?: string | undefined
}

/** The signal of the caller's organizations over time and by operator. Throws 404 and 403. */
export async function readSignalTrend(
  ctx: FleetContext,
  fleet: { signalTrends: SignalTrends; revisions: Revisions },
  reader: Reader,
  query: SignalTrendQuery,
) {
  const scope = await openCoverage(ctx, query)
  const { tag: tags, rat, plmn } = query
  const group = await queriedGroup(ctx, scope.found, query.groupId)
  const { organizations } = scope
  const { madeMs, stepMs, steps, operators } = await fleet.signalTrends.read(reader, {
    ...{ organizations, group, tags, rat, plmn },
  })
  return {
    ...answerTime(scope, fleet.revisions, madeMs),
    stepS: stepMs / 1_000,
    steps: steps.map(({ fromMs, ...step }) => ({ from: new Date(fromMs).toISOString(), ...step })),
    operators,
  }
}
