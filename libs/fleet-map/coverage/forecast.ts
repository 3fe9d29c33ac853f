import { nextSlice } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import type { RouteCells } from '#fleet-map/coverage/route-cells'
import { voteFilters } from '#fleet-map/coverage/vote-filters'
import { databaseNowMs } from '#fleet-map/database-moment'
import type { Revisions } from '#fleet-map/revisions'
import type { Reader } from '#questdb/copies/readers'
import { forecastSegments, placeSegments } from '#telemetry/coverage/forecast'
import { summarizeForecast } from '#telemetry/coverage/forecast-summary'
import type { Point } from '#telemetry/geo/geo'
import { routeOf } from '#telemetry/geo/route-path'

type ForecastRequest = {
  /** The lines of the route, and the number of other geometries in the request. */
  path: { lines: Point[][]; ignoredGeometries: number }
  orgId?: string | undefined
  sinceMinutes: number
  /** Length of a segment in metres. */
  everyM: number
  plmn?: string | undefined
}

/** Forecasts the signal along a route from the samples of the caller's organizations. Throws 404 and 403. */
export async function readForecast(
  ctx: FleetContext,
  fleet: { routeCells: RouteCells; revisions: Revisions },
  reader: Reader,
  request: ForecastRequest,
) {
  const { path, everyM, plmn } = request
  const scope = await openCoverage(ctx, request)
  const { organizations } = scope
  const nowMs = ctx.clock()
  // The longest route has 20,000 segments. Each of these steps takes some 50 ms for them.
  const { stretches, segments: route } = routeOf(path.lines, everyM)
  await nextSlice()
  const segments = placeSegments(route)
  await nextSlice()
  const chains = [...new Set(segments.map(({ cells }) => cells))]
  const votes = {
    key: JSON.stringify([organizations, plmn ?? null]),
    filters: () => voteFilters({ pool: ctx.pool, questdb: reader.questdb }, { organizations, plmn }, nowMs),
  }
  const forecasts = await fleet.routeCells.forecasts(reader, votes, chains)
  await nextSlice()
  const forecast = forecastSegments(segments, forecasts)
  await nextSlice()
  return {
    ...answerTime(scope, fleet.revisions, nowMs, await databaseNowMs(ctx.pool)),
    lengthM: stretches.at(-1)?.toM ?? 0,
    everyM,
    ...(stretches.length > 1 && { stretches }),
    ...(path.ignoredGeometries > 0 && { ignoredGeometries: path.ignoredGeometries }),
    segments: forecast,
    summary: summarizeForecast(forecast, stretches),
  }
}
