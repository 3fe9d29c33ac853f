import { cellToLatLng } from 'h3-js'
import { createBuckets } from '#fleet-map/live/buckets'
import { createCellSlots } from '#fleet-map/tiles/cell-slots'
import { type CellCounts, createCellSums } from '#fleet-map/tiles/cell-sums'
import { type PlacedDevice, unitsPerDegree } from '#fleet-map/tiles/device-table'
import type { Level } from '#fleet-map/tiles/level'
import { type Tile, tileKey, tileOf } from '#fleet-map/tiles/tile-math'
import { worldPoint } from '#telemetry/geo/mercator'

export type CellLevel = Level & {
  cells(): number
  /** Visits the cells whose mean position lies in a tile of the level's bucket zoom. */
  forEachCell(tile: Tile, visit: (cell: CellCounts) => void): void
}

const farLon = 90
// Finding a centre takes as long as finding a cell. The centre of a cell is within 30° of its devices below this latitude.
const [sureLat, sureLonDistance] = [50, 30]

/**
 * Counts per H3 cell of a resolution, updated with each change of a device. Cells are found by the tile of `bucketZoom` that
 * contains their mean position.
 */
export function createCellLevel(resolution: number, bucketZoom: number): CellLevel {
  const slots = createCellSlots(resolution)
  const sums = createCellSums()
  const buckets = createBuckets()
  /** By row of a device: its slot plus one. */
  let slotOfRow = new Int32Array(1_024)

  const slotOf = ({ latE7, lonE7 }: PlacedDevice): number => {
    const [lat, lon] = [latE7 / unitsPerDegree, lonE7 / unitsPerDegree]
    const slot = slots.slotAt(lat, lon)
    if (sums.count(slot) === 0) sums.begin(slot, isCentreFarEast(slot, lat, lon))
    return slot
  }
  const isCentreFarEast = (slot: number, lat: number, lon: number): boolean => {
    const isSure = Math.abs(lat) < sureLat && Math.abs(Math.abs(lon) - farLon) > sureLonDistance
    return Math.abs(isSure ? lon : cellToLatLng(slots.cellOf(slot))[1]) > farLon
  }
  /** Moves a cell to the tile of its new mean position, or frees it if it has no devices left. */
  const settle = (slot: number): void => {
    if (sums.count(slot) === 0) {
      slots.free(slot)
      buckets.remove(slot)
      return
    }
    const { lat, lon } = sums.meanOf(slot)
    buckets.place(slot, tileKey(tileOf(worldPoint(lat, lon), bucketZoom)))
  }

  return {
    cells: slots.cells,
    change(row, before, after) {
      if (row >= slotOfRow.length) {
        const longer = new Int32Array(2 * row)
        longer.set(slotOfRow)
        slotOfRow = longer
      }
      const left = before && (slotOfRow[row] ?? 0) - 1
      const isStanding = before && after && before.latE7 === after.latE7 && before.lonE7 === after.lonE7
      const entered = after && (isStanding ? left : slotOf(after))
      if (before && left !== undefined) sums.change(left, row, before, -1)
      if (after && entered !== undefined) sums.change(entered, row, after, 1)
      slotOfRow[row] = entered === undefined ? 0 : entered + 1
      if (left !== undefined && left !== entered) settle(left)
      if (entered !== undefined) settle(entered)
    },
    forEachCell(tile, visit) {
      buckets.forEach(tileKey(tile), (slot) => visit(sums.countsOf(slot)))
    },
    bytes: () => slotOfRow.byteLength + sums.bytes() + slots.bytes() + buckets.bytes(),
  }
}
