import { cellArea, cellToBoundary, cellToLatLng, gridDisk, UNITS } from 'h3-js'
import { meanLongitude, smallestBox } from '#telemetry/geo/antimeridian'
import type { BoundingBox } from '#telemetry/geo/geo'
import { type Histogram, nearestRank } from './coverage.ts'
import { signalThresholds } from './quality.ts'

/** Resolution of the cells that dead zones are made of. */
export const deadZoneResolution = 9
/** Votes a cell needs before it can be called dead. */
export const enoughVotes = 5
/** A cell with a smaller part of its moments in service is dead. */
export const deadServiceRatio = 0.9

/** Below these medians the quality of a cell is `none`. */
export const noneBelow = { rsrpDbm: signalThresholds.lte.rsrpDbm[0], sinrDb: signalThresholds.lte.sinrDb[0] }

/** A moment is one device in one minute. */
const secondsPerMoment = 60

/**
 * A cell without usable service. `moments`: minutes of a device in it; `darkMoments`: those in which none of the device's modems had
 * service.
 */
export type DeadCell = { h3: string; samples: number; moments: number; darkMoments: number; lastAtMs: number }

/** Dead cells that touch each other. Bounding boxes that cross the 180th meridian have minLon > maxLon. */
export type DeadZone = {
  /** H3 index of the zone's smallest cell: the same for as long as the zone holds that cell. */
  id: string
  lat: number
  lon: number
  bbox: BoundingBox
  cells: string[]
  areaKm2: number
  samples: number
  noServiceS: number
  /** The part of the moments that has service. */
  serviceRatio: number
  lastAtMs: number
}

/** Joins neighbouring cells into zones, longest without service first. The order of the cells does not matter. */
export function joinDeadZones(cells: Iterable<DeadCell>): DeadZone[] {
  const left = new Map([...cells].map((cell) => [cell.h3, cell]))
  const zones: DeadZone[] = []
  for (const first of left.values()) {
    left.delete(first.h3)
    const joined = [first]
    // The list grows during the loop: each cell adds its remaining neighbours.
    for (const { h3 } of joined) {
      for (const neighbour of gridDisk(h3, 1)) {
        const cell = left.get(neighbour)
        if (!cell) continue
        left.delete(neighbour)
        joined.push(cell)
      }
    }
    zones.push(zoneOf(joined))
  }
  return zones.sort(worstFirst)
}

/** The order of dead zones: seconds without service, then votes, both descending, then id. */
export function worstFirst(
  a: Pick<DeadZone, 'noServiceS' | 'samples' | 'id'>,
  b: Pick<DeadZone, 'noServiceS' | 'samples' | 'id'>,
): number {
  return b.noServiceS - a.noServiceS || b.samples - a.samples || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

function zoneOf(joined: readonly DeadCell[]): DeadZone {
  const cells = joined.map(({ h3 }) => h3).sort()
  const sumOf = (pick: (cell: DeadCell) => number) => joined.reduce((sum, cell) => sum + pick(cell), 0)
  const corners = cells.flatMap((h3) => cellToBoundary(h3)).map(([lat, lon]) => ({ lat, lon }))
  const [moments, dark] = [sumOf((cell) => cell.moments), sumOf(({ darkMoments }) => darkMoments)]
  const centres = cells.map((h3) => cellToLatLng(h3))
  return {
    id: cells[0] ?? '',
    lat: centres.reduce((sum, [lat]) => sum + lat, 0) / cells.length,
    lon: meanLongitude(centres.map(([, lon]) => lon)),
    bbox: smallestBox(corners) ?? [0, 0, 0, 0],
    cells,
    areaKm2: cells.reduce((sum, h3) => sum + cellArea(h3, UNITS.km2), 0),
    samples: sumOf(({ samples }) => samples),
    noServiceS: dark * secondsPerMoment,
    serviceRatio: (moments - dark) / moments,
    lastAtMs: joined.reduce((newest, { lastAtMs }) => Math.max(newest, lastAtMs), 0),
  }
}

/** Votes of one operator in a zone. */
export type ZoneOperator = { plmn: string; samples: number; inService: number; rsrp: Histogram }

/**
 * The operators with the lowest and the highest service ratio in a zone, by median RSRP where those are equal. Only
 * operators with enough votes count; `bestPlmn` is null unless there are two of them.
 */
export function rankOperators(operators: readonly ZoneOperator[]): {
  worstPlmn: string | null
  bestPlmn: string | null
} {
  const ranked = operators
    .filter(({ samples }) => samples >= enoughVotes)
    .map(({ plmn, samples, inService, rsrp }) => ({
      plmn,
      serviceRatio: inService / samples,
      medianDbm: nearestRank(rsrp, 0.5) ?? Number.NEGATIVE_INFINITY,
    }))
    .sort((a, b) => a.serviceRatio - b.serviceRatio || byNumber(a.medianDbm, b.medianDbm) || (a.plmn < b.plmn ? -1 : 1))
  return { worstPlmn: ranked[0]?.plmn ?? null, bestPlmn: ranked.length > 1 ? (ranked.at(-1)?.plmn ?? null) : null }
}

const byNumber = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1)
