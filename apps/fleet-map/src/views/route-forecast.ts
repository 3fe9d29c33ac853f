import { useEffect, useMemo } from 'preact/hooks'
import { call } from '../api/client.ts'
import { type Resource, useResource } from '../components/resource.ts'
import { drawForecast } from '../route/drawn.ts'
import type { RouteForecast } from '../route/types.ts'
import { drawnRoute, type RouteState } from '../state/route.ts'

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
  { path, drawing }: RouteState,
  lengthM: number,
  filter: RouteFilter,
): { isComplete: boolean; forecast: Resource<RouteForecast | undefined> } {
  const isComplete = !drawing && path.length >= 2
  const forecast = useResource<RouteForecast | undefined>(
    isComplete ? JSON.stringify(['route', path, filter]) : 'no route',
    async (signal) =>
      isComplete
        ? call<RouteForecast>('/fleet/forecast', {
            method: 'POST',
            signal,
            body: {
              path,
              everyM: segmentLengthM(lengthM),
              ...(filter.orgId && { orgId: filter.orgId }),
              ...(filter.plmn && { plmn: filter.plmn }),
              ...(filter.sinceMinutes && { sinceMinutes: filter.sinceMinutes }),
            },
          })
        : undefined,
  )
  const found = isComplete ? forecast.value : undefined
  const drawn = useMemo(() => found && drawForecast(path, found), [path, found])
  useEffect(() => {
    drawnRoute.value = drawn ?? { stretches: [], marks: [], draft: path }
  }, [drawn, path])
  useEffect(
    () => () => {
      drawnRoute.value = null
    },
    [],
  )
  return { isComplete, forecast: { ...forecast, value: found } }
}
