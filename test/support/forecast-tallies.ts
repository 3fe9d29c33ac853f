import {
  type CellTallies,
  type ForecastSegment,
  forecastCell,
  forecastSegments,
  type PlacedSegment,
} from '#telemetry/forecast'

/** Forecasts segments from the votes of all their cells. */
export function forecastFromTallies(
  segments: readonly PlacedSegment[],
  tallies: CellTallies,
  devices: ReadonlyMap<string, number> = new Map(),
): ForecastSegment[] {
  const cellForecasts = new Map(segments.map(({ cells }) => [cells, forecastCell(cells, tallies)]))
  return forecastSegments(segments, cellForecasts, devices)
}
