import { nextSlice } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import { voteFilters } from '#fleet-map/coverage/vote-filters'
import type { FleetMaps } from '#fleet-map/fleet-maps'
import type { ForecastRequest } from '#fleet-map/queries'
import { databaseNowMs } from '#fleet-map/registry'
import type { Reader } from '#questdb/copies/readers'
import { forecastSegments, placeSegments } from '#telemetry/coverage/forecast'
import { summarizeForecast } from '#telemetry/coverage/forecast-summary'
import { pathLengthM, routeSegments } from '#telemetry/geo/route-path'

/** Forecasts the signal along a route from the samples of the caller's organizations. Throws 404 and 403. */
export async function readForecast(ctx: FleetContext, fleet: FleetMaps, reader: Reader, request: ForecastRequest) {
  const { path, everyM, plmn } = request
  const scope = await openCoverage(ctx, request)
  const { organizations } = scope
  const nowMs = ctx.clock()
  // The longest route has 20,000 segments. Each of these steps takes some 50 ms for them.
  const route = routeSegments(path, everyM)
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
    lengthM: pathLengthM(path),
    everyM,
    segments: forecast,
    summary: summarizeForecast(forecast),
  }
}
