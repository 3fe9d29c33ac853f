import {
  cellToLatLng,
  getHexagonAreaAvg,
  getHexagonEdgeLengthAvg,
  POLYGON_TO_CELLS_FLAGS,
  polygonToCellsExperimental,
  UNITS,
} from 'h3-js'
import { longitudeRanges } from '#telemetry/geo/antimeridian'
import { type BoundingBox, degreeM, radians } from '#telemetry/geo/geo'
import { coarsestResolution } from './coverage-resolution.ts'
import { type AreaSet, areaResolution, longOfH3 } from './h3-index.ts'

// A longer list costs more than it saves.
const maxAreas = 400

/**
 * Returns the areas whose votes can count in a cell with its centre in the box: those of the finest resolution with about 400 of
 * them. Undefined if H3 cannot fill the box. Cells extend beyond the box, and areas and cells beyond each other, so the box is
 * widened by the edges of both.
 */
export function coverageAreas(box: BoundingBox): AreaSet | undefined {
  for (let resolution = areaResolution; resolution >= 0; resolution--) {
    const wide = widened(box, edgeM(coarsestResolution) + edgeM(resolution))
    if (!isFillable(wide)) return undefined
    const parts = partsOf(wide)
    const squareMetres = parts.reduce((sum, part) => sum + areaM2(part), 0)
    if (squareMetres / getHexagonAreaAvg(resolution, UNITS.m2) <= maxAreas)
      return { resolution, indexes: [...new Set(parts.flatMap((part) => overlapping(part, resolution)))] }
  }
  return undefined
}

function overlapping([minLon, minLat, maxLon, maxLat]: BoundingBox, resolution: number): string[] {
  const ring: [number, number][] = [
    [minLat, minLon],
    [minLat, maxLon],
    [maxLat, maxLon],
    [maxLat, minLon],
  ]
  return polygonToCellsExperimental([ring], resolution, POLYGON_TO_CELLS_FLAGS.containmentOverlapping).map(longOfH3)
}

/** H3 cannot fill a box near the poles or across half the globe. */
const isFillable = ([minLon, minLat, maxLon, maxLat]: BoundingBox): boolean =>
  widthOf(minLon, maxLon) < 180 && Math.max(-minLat, maxLat) <= 85

/** The area of a box, measured at its middle. */
const areaM2 = ([minLon, minLat, maxLon, maxLat]: BoundingBox): number =>
  (maxLat - minLat) * (maxLon - minLon) * degreeM ** 2 * Math.cos(((minLat + maxLat) / 2) * radians)

/** The centre of a cell. */
export const cellCentre = (h3: string): [lat: number, lon: number] => cellToLatLng(h3)

const edgeM = (resolution: number) => getHexagonEdgeLengthAvg(resolution, UNITS.m)

/** The width in degrees. A box over the antimeridian ends at a smaller longitude than it begins. */
const widthOf = (minLon: number, maxLon: number): number => (minLon <= maxLon ? maxLon - minLon : maxLon - minLon + 360)

const partsOf = (box: BoundingBox): BoundingBox[] =>
  longitudeRanges(box).flatMap(([west, east]): BoundingBox[] => (west < east ? [[west, box[1], east, box[3]]] : []))

function widened([minLon, minLat, maxLon, maxLat]: BoundingBox, marginM: number): BoundingBox {
  const lat = marginM / degreeM
  const lon = lat / Math.max(0.05, Math.cos(Math.max(Math.abs(minLat), Math.abs(maxLat)) * radians))
  const [south, north] = [Math.max(-90, minLat - lat), Math.min(90, maxLat + lat)]
  if (widthOf(minLon, maxLon) + 2 * lon >= 360) return [-180, south, 180, north]
  return [turned(minLon - lon), south, turned(maxLon + lon), north]
}

const turned = (lon: number): number => (lon < -180 ? lon + 360 : lon > 180 ? lon - 360 : lon)
