import { cellToParent } from 'h3-js'
import { coverageVotes, dbBin, type Histogram, hasService, nearestRank } from '#telemetry/coverage/coverage'
import { forecastResolutions, placeSegments } from '#telemetry/coverage/forecast'
import { addSinrVotes, addVoteGroup, emptySignalTally, type SignalTally } from '#telemetry/coverage/signal-tally'
import { distanceM } from '#telemetry/geo/geo'
import { routeSegments } from '#telemetry/geo/route-path'
import { align } from '#telemetry/position/align'
import { type DistinctFix, distinctFixes } from '#telemetry/position/distinct-fixes'
import { dwellPolicies } from '#telemetry/position/dwell'
import type { CellularRow } from '#telemetry/report/rows'
import { readDrives } from '#test/drives'
import { forecastFromTallies } from '#test/forecast-tallies'
import { cleanDrive } from '#test/hold-out'

/** A recorded drive with the position of each RF row and its path. */
export type PlacedDrive = { name: string; rows: (CellularRow & { deviceId: string })[]; way: DistinctFix[] }

export const placedDrives = (): PlacedDrive[] =>
  readDrives().map((drive) => {
    const { reports, samples } = cleanDrive(drive)
    const { rows } = align(reports, samples, dwellPolicies.vehicle)
    return {
      name: drive.name,
      rows: rows.map((row) => ({ ...row, deviceId: drive.name })),
      way: distinctFixes(reports),
    }
  })

/** Returns tallies for all forecast resolutions from the votes of these drives. */
function learn(drives: readonly PlacedDrive[]): Map<string, SignalTally> {
  const tallies = new Map<string, SignalTally>()
  for (const vote of coverageVotes(drives.flatMap(({ rows }) => rows))) {
    for (const resolution of forecastResolutions) {
      const h3 = resolution === 10 ? vote.h3 : cellToParent(vote.h3, resolution)
      const tally = tallies.get(h3) ?? emptySignalTally()
      tallies.set(h3, tally)
      addVoteGroup(tally, { ...vote, rsrpBin: vote.rsrpDbm === null ? null : dbBin(vote.rsrpDbm), votes: 1 })
      if (vote.sinrDb !== null && hasService(vote)) addSinrVotes(tally, dbBin(vote.sinrDb), 1)
    }
  }
  return tallies
}

export type ForecastFigures = {
  measurements: number
  meanErrorDb: number
  insideP10P90Share: number
  /** The error of a forecast that always returns the median of all learned votes, for the same measurements. */
  medianOfEverythingDb: number
}

/**
 * Measures how well the other drives predict the drives of `asked`. Counts measurements whose position is accurate enough
 * for a coverage cell; with `anyPlace`, all that have a position.
 */
export function forecastFigures(
  learned: readonly PlacedDrive[],
  asked: readonly PlacedDrive[],
  anyPlace = false,
): ForecastFigures {
  const tallies = learn(learned)
  const everything: Histogram = new Map()
  for (const { rsrpDbm } of coverageVotes(learned.flatMap(({ rows }) => rows))) {
    if (rsrpDbm !== null) everything.set(dbBin(rsrpDbm), (everything.get(dbBin(rsrpDbm)) ?? 0) + 1)
  }
  const overallDbm = nearestRank(everything, 0.5) ?? 0
  let [measurements, errorDb, inside, overallErrorDb] = [0, 0, 0, 0]
  for (const { rows, way } of asked) {
    const segments = forecastFromTallies(placeSegments(routeSegments(way, everyM)), tallies)
    const alongM = odometer(way)
    for (const row of rows) {
      const isPlaced = anyPlace ? row.alignedLat !== null : row.h3Res10 !== null
      const segment = segments[Math.floor(alongM(row.tsMs) / everyM)]
      const told = segment?.byRat[row.rat ?? 'unknown']?.rsrpDbm
      if (!isPlaced || row.rsrpDbm === null || !told || told.p10 === null || told.p50 === null || told.p90 === null) {
        continue
      }
      measurements++
      errorDb += Math.abs(row.rsrpDbm - told.p50)
      overallErrorDb += Math.abs(row.rsrpDbm - overallDbm)
      if (row.rsrpDbm >= told.p10 && row.rsrpDbm <= told.p90) inside++
    }
  }
  return {
    measurements,
    meanErrorDb: errorDb / measurements,
    insideP10P90Share: inside / measurements,
    medianOfEverythingDb: overallErrorDb / measurements,
  }
}

const everyM = 100

/** Returns the distance driven up to a time in metres, interpolated linearly between two fixes. */
function odometer(way: readonly DistinctFix[]): (tsMs: number) => number {
  const marks: { tsMs: number; m: number }[] = []
  let m = 0
  for (const [index, fix] of way.entries()) {
    const before = way[index - 1]
    if (before) m += distanceM(before, fix)
    marks.push({ tsMs: fix.timeMs, m })
  }
  return (tsMs) => {
    const after = marks.findIndex((mark) => mark.tsMs > tsMs)
    const [a, b] = [marks[after - 1], marks[after]]
    if (!a || !b) return after === 0 ? 0 : Math.max(0, m - 0.001)
    return a.m + ((b.m - a.m) * (tsMs - a.tsMs)) / (b.tsMs - a.tsMs)
  }
}
