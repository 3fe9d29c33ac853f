import { useEffect, useMemo } from 'preact/hooks'
import { post } from '../../api/client.ts'
import type { RouteForecast } from '../../api/schemas.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import { drawDraft, drawForecast } from '../../route/drawn.ts'
import { drawnRoute, type RouteState, wholeLines } from '../../state/route.ts'

/** `sinceMinutes` null uses the service's default of 30 days. */
export type RouteFilter = { orgId: string; plmn: string; sinceMinutes: number | null }

const shortestSegmentM = 100
const longestSegmentM = 1_000
// The chart has no room for more segments.
const usefulSegments = 2_000

const segmentLengthM = (lengthM: number): number =>
  Math.min(longestSegmentM, Math.max(shortestSegmentM, Math.ceil(lengthM / usefulSegments / 50) * 50))

/**
 * Reads the forecast of a route once the route is complete, and draws the route on the map. The forecast is undefined
 * while the route is being drawn.
 */
export function useRouteForecast(
  state: RouteState,
  lengthM: number,
  filter: RouteFilter,
): { isComplete: boolean; forecast: Resource<RouteForecast | undefined> } {
  const { lines, drawing } = state
  const [first] = lines
  const isComplete = !drawing && wholeLines(state).length > 0
  const forecast = useResource<RouteForecast | undefined>(
    isComplete ? JSON.stringify(['route', lines, filter]) : 'no route',
    async (signal) =>
      isComplete
        ? post('/fleet/forecast', {
            signal,
            body: {
              path: first && lines.length === 1 ? first : { type: 'MultiLineString', coordinates: lines },
              everyM: segmentLengthM(lengthM),
              ...(filter.orgId && { orgId: filter.orgId }),
              ...(filter.plmn && { plmn: filter.plmn }),
              ...(filter.sinceMinutes && { sinceMinutes: filter.sinceMinutes }),
            },
          })
        : undefined,
  )
  const found = isComplete ? forecast.value : undefined
  const drawn = useMemo(() => found && drawForecast(lines, found), [lines, found])
  useEffect(() => {
    drawnRoute.value = drawn ?? drawDraft(lines)
  }, [drawn, lines])
  useEffect(
    () => () => {
      drawnRoute.value = null
    },
    [],
  )
  return { isComplete, forecast: { ...forecast, value: found } }
}
