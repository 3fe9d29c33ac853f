import { latLngToCell } from 'h3-js'
import type { RouteSegment } from '#telemetry/geo/route-path'
import { ancestorOf, finestResolution } from './ancestor-cell.ts'
import { type Confidence, confidenceOf } from './coverage.ts'
import { enoughVotes } from './dead-zones.ts'
import type { Moments } from './moments.ts'
import { type Quality, signalQuality } from './quality.ts'
import { type BlendedSignal, blendSignal, votesThatStandAlone } from './signal-blend.ts'
import type { Spread } from './signal-mixture.ts'
import { clearlyBestPlmn, isServed, type OperatorVotes, ratOf, type SignalTally } from './signal-tally.ts'

/** Resolutions of the cells that can describe a segment, finest first. */
export const forecastResolutions = [finestResolution, 9, 8, 7] as const
const [, ...coarserResolutions] = forecastResolutions

/** Tallies of cells by H3 index, of all forecast resolutions. */
export type CellTallies = ReadonlyMap<string, SignalTally>

/** The cell that describes a segment. */
export type SourceCell = { h3: string; h3Resolution: number }

/** A stretch of a route and the signal the fleet measured around its middle. Distances are in metres from the start. */
export type ForecastSegment = {
  fromM: number
  toM: number
  lat: number
  lon: number
  h3: string
  h3Resolution: number
  /** Votes and voting devices of the cell. */
  samples: number
  devices: number
  serviceRatio: number | null
  quality: Quality | null
  confidence: Confidence | 'none'
  rsrpDbm: Spread | null
  sinrDb: { p10: number | null; p50: number | null } | null
  byRat: Record<string, { samples: number; share: number; rsrpDbm: Spread }>
  byPlmn: Record<string, { samples: number; serviceRatio: number; rsrpDbm: Spread; best: boolean }>
}

/** What the votes around a cell say about every segment in it. */
export type CellForecast = Omit<ForecastSegment, 'fromM' | 'toM' | 'lat' | 'lon' | 'devices' | 'confidence'>

/** A forecast and how many devices voted in the cell that describes the segments. */
export type CountedForecast = CellForecast & { devices: number }

/** A segment and the cells around its middle, in the order of `forecastResolutions`. */
export type PlacedSegment = RouteSegment & { cells: readonly string[] }

/** Finds the cells of segments. Segments in the same finest cell share one list. */
export function placeSegments(segments: readonly RouteSegment[]): PlacedSegment[] {
  const known = new Map<string, readonly string[]>()
  return segments.map((segment) => {
    const finest = latLngToCell(segment.lat, segment.lon, finestResolution)
    let cells = known.get(finest)
    if (!cells) {
      cells = [finest, ...coarserResolutions.map((resolution) => ancestorOf(finest, resolution))]
      known.set(finest, cells)
    }
    return { ...segment, cells }
  })
}

/**
 * Returns the finest of these cells with enough votes. Without one, the finest with any votes. Undefined if none has any.
 */
export function sourceCell(cells: readonly string[], tallies: CellTallies): SourceCell | undefined {
  for (const least of [enoughVotes, 1]) {
    const index = cells.findIndex((cell) => (tallies.get(cell)?.samples ?? 0) >= least)
    const [h3, h3Resolution] = [cells[index], forecastResolutions[index]]
    if (h3 !== undefined && h3Resolution !== undefined) return { h3, h3Resolution }
  }
  return undefined
}

/** The forecast of each segment. `forecasts` has the forecast of each finest cell. */
export function forecastSegments(
  segments: readonly PlacedSegment[],
  forecasts: ReadonlyMap<string, CountedForecast>,
): ForecastSegment[] {
  return segments.map(({ fromM, toM, lat, lon, cells }) => {
    const forecast = forecasts.get(cells[0] ?? '') ?? { ...unknownCell(cells), devices: 0 }
    const { h3, h3Resolution, samples, devices, serviceRatio, quality, ...levels } = forecast
    const confidence = samples === 0 ? 'none' : confidenceOf(samples, devices)
    return {
      ...{ fromM, toM, lat, lon, h3, h3Resolution, samples, devices, serviceRatio, quality, confidence },
      ...levels,
    }
  })
}

/**
 * Forecasts the signal in the finest of these cells. `tallies` has the votes of all of them; if the finest cell is
 * sufficient, the coarser ones may be left out. `moments` has the cells in which several modems of a device voted.
 */
export function forecastCell(
  cells: readonly string[],
  tallies: CellTallies,
  moments: ReadonlyMap<string, Moments> = new Map(),
): CellForecast {
  const source = sourceCell(cells, tallies)
  const tally = source && tallies.get(source.h3)
  if (!source || !tally) return unknownCell(cells)
  const isAlone = (tallies.get(cells[0] ?? '')?.samples ?? 0) >= votesThatStandAlone
  const used = isAlone ? cells.slice(0, 1) : cells
  const blend = blendSignal(
    used.map((h3) => tallies.get(h3)),
    cells.indexOf(source.h3),
    used.map((h3) => moments.get(h3)),
  )
  const rat = blend.serviceRatio > 0 ? 'lte' : 'none'
  const signal = { rat, rsrpDbm: blend.rsrpDbm.p50, sinrDb: blend.sinrDb.p50 }
  return {
    ...source,
    samples: tally.samples,
    serviceRatio: blend.serviceRatio,
    quality: signalQuality(signal).quality,
    rsrpDbm: blend.rsrpDbm.p50 === null ? null : blend.rsrpDbm,
    sinrDb: blend.sinrDb.p50 === null ? null : blend.sinrDb,
    byRat: ratsOf(blend, tally),
    byPlmn: operatorsOf(blend, tally),
  }
}

const unknownCell = (cells: readonly string[]): CellForecast => ({ ...nothingKnown, h3: cells[0] ?? '' })

const nothingKnown: Omit<CellForecast, 'h3'> = {
  h3Resolution: forecastResolutions[0],
  samples: 0,
  serviceRatio: null,
  quality: null,
  rsrpDbm: null,
  sinrDb: null,
  byRat: {},
  byPlmn: {},
}

const ratsOf = ({ byRat }: BlendedSignal, { groups }: SignalTally): CellForecast['byRat'] =>
  Object.fromEntries(
    [...byRat].map(([rat, { share, rsrpDbm }]) => [
      rat,
      { samples: votesOf(groups, (group) => isServed(group.rat) && ratOf(group) === rat), share, rsrpDbm },
    ]),
  )

function operatorsOf({ byPlmn }: BlendedSignal, tally: SignalTally): CellForecast['byPlmn'] {
  const best = clearlyBestPlmn(tally)
  return Object.fromEntries(
    [...byPlmn].map(([plmn, { serviceRatio, rsrpDbm }]) => [
      plmn,
      { samples: votesOf(tally.groups, (group) => group.plmn === plmn), serviceRatio, rsrpDbm, best: plmn === best },
    ]),
  )
}

function votesOf(groups: readonly OperatorVotes[], includes: (group: OperatorVotes) => boolean): number {
  let votes = 0
  for (const group of groups) if (includes(group)) votes += group.votes
  return votes
}
