import { cellToLatLng, getHexagonEdgeLengthAvg, POLYGON_TO_CELLS_FLAGS, polygonToCellsExperimental, UNITS } from 'h3-js'
import { coarsestResolution } from '#questdb/coverage-resolution'
import { areaResolution, longOfH3 } from '#questdb/h3-index'
import type { BoundingBox } from '#telemetry/geo'

const degreeM = 111_320
// A longer list costs more than it saves.
const maxAreas = 400
const areaM2 = 252.9e6

/**
 * Returns the resolution-5 areas whose votes can count in a cell with its centre in the box, as decimal text of their
 * index. Undefined if the box is too large. Cells extend beyond the box and their children beyond the cells, so the box is
 * widened by the edges of both.
 */
export function coverageAreas(box: BoundingBox): string[] | undefined {
  const marginM = edgeM(coarsestResolution) + edgeM(areaResolution)
  const areas = new Set<string>()
  for (const part of partsOf(box)) {
    const [minLon, minLat, maxLon, maxLat] = widened(part, marginM)
    const heightM = (maxLat - minLat) * degreeM
    const widthM = (maxLon - minLon) * degreeM * Math.cos((((minLat + maxLat) / 2) * Math.PI) / 180)
    // H3 cannot fill a box near the poles or across half the globe.
    if ((heightM * widthM) / areaM2 > maxAreas || maxLon - minLon >= 180 || Math.max(-minLat, maxLat) > 85)
      return undefined
    const ring: [number, number][] = [
      [minLat, minLon],
      [minLat, maxLon],
      [maxLat, maxLon],
      [maxLat, minLon],
    ]
    const flag = POLYGON_TO_CELLS_FLAGS.containmentOverlapping
    for (const h3 of polygonToCellsExperimental([ring], areaResolution, flag)) areas.add(longOfH3(h3))
  }
  return [...areas]
}

/** The centre of a cell. */
export const cellCentre = (h3: string): [lat: number, lon: number] => cellToLatLng(h3)

const edgeM = (resolution: number) => getHexagonEdgeLengthAvg(resolution, UNITS.m)

const partsOf = ([minLon, minLat, maxLon, maxLat]: BoundingBox): BoundingBox[] =>
  minLon <= maxLon
    ? [[minLon, minLat, maxLon, maxLat]]
    : [
        [minLon, minLat, 180, maxLat],
        [-180, minLat, maxLon, maxLat],
      ]

function widened([minLon, minLat, maxLon, maxLat]: BoundingBox, marginM: number): BoundingBox {
  const lat = marginM / degreeM
  const lon = lat / Math.max(0.05, Math.cos((Math.max(Math.abs(minLat), Math.abs(maxLat)) * Math.PI) / 180))
  return [minLon - lon, Math.max(-90, minLat - lat), maxLon + lon, Math.min(90, maxLat + lat)]
}
