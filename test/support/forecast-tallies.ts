import {
  type CellTallies,
  type ForecastSegment,
  forecastCell,
  forecastSegments,
  type PlacedSegment,
} from '#telemetry/coverage/forecast'

/** Forecasts segments from the votes of all their cells. */
export function forecastFromTallies(
  segments: readonly PlacedSegment[],
  tallies: CellTallies,
  devices: ReadonlyMap<string, number> = new Map(),
): ForecastSegment[] {
  const counted = segments.map(({ cells }) => {
    const forecast = forecastCell(cells, tallies)
    return [cells[0] ?? '', { ...forecast, devices: devices.get(forecast.h3) ?? 0 }] as const
  })
  return forecastSegments(segments, new Map(counted))
}
