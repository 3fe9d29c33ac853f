import { cellToLatLng } from 'h3-js'
import { createBuckets } from '#fleet-map/live/buckets'
import { createCellSlots } from '#fleet-map/tiles/cell-slots'
import { type PlacedDevice, unitsPerDegree, unknownQuality } from '#fleet-map/tiles/device-table'
import type { Level } from '#fleet-map/tiles/level'
import { type Tile, tileKey, tileOf, worldPoint } from '#fleet-map/tiles/tile-math'
import { normalizeLongitude } from '#telemetry/geo/geo'

/** The devices of an H3 cell. `row` is that of the only device if `count` is 1. */
export type CellCounts = {
  /** Mean position of the devices. */
  lat: number
  lon: number
  count: number
  online: number
  offline: number
  /** The worst known quality class; `unknownQuality` if none is known. */
  worstQuality: number
  /** How many devices have each known quality class, worst first. */
  byQuality: readonly number[]
  row: number
}

export type CellLevel = Level & {
  cells(): number
  /** Visits the cells whose mean position lies in a tile of the level's bucket zoom. */
  forEachCell(tile: Tile, visit: (cell: CellCounts) => void): void
}

// Per cell. Rows are summed as well: with one device left, the sum is its row.
const [sumLat, sumLon, sumRow, sumWidth] = [0, 1, 2, 3]
const [count, online, offline, firstQuality] = [0, 1, 2, 3]
const countWidth = firstQuality + unknownQuality

const turnE7 = 360 * unitsPerDegree
const farLon = 90
// Finding a centre takes as long as finding a cell. The centre of a cell is within 30° of its devices below this latitude.
const [sureLat, sureLonDistance] = [50, 30]
const cellBytes = 3 * 8 + countWidth * 4 + 1

/**
 * Counts per H3 cell of a resolution, updated with each change of a device. Cells are found by the tile of `bucketZoom` that
 * contains their mean position.
 */
export function createCellLevel(resolution: number, bucketZoom: number): CellLevel {
  const slots = createCellSlots(resolution)
  const buckets = createBuckets()
  let sums = new Float64Array(1_024 * sumWidth)
  let counts = new Int32Array(1_024 * countWidth)
  /** 1 if western longitudes of the cell count as more than 180°, so that means are right across the antimeridian. */
  let isFarEast = new Uint8Array(1_024)
  /** By row of a device: its slot plus one. */
  let slotOfRow = new Int32Array(1_024)

  const countOf = (slot: number): number => counts[slot * countWidth + count] ?? 0

  const slotOf = ({ latE7, lonE7 }: PlacedDevice): number => {
    const [lat, lon] = [latE7 / unitsPerDegree, lonE7 / unitsPerDegree]
    const slot = slots.slotAt(lat, lon)
    if (slot >= isFarEast.length) grow(2 * slot)
    if (countOf(slot) === 0) isFarEast[slot] = isCentreFarEast(slot, lat, lon) ? 1 : 0
    return slot
  }
  const isCentreFarEast = (slot: number, lat: number, lon: number): boolean => {
    const isSure = Math.abs(lat) < sureLat && Math.abs(Math.abs(lon) - farLon) > sureLonDistance
    return Math.abs(isSure ? lon : cellToLatLng(slots.cellOf(slot))[1]) > farLon
  }
  const grow = (capacity: number): void => {
    sums = extended(sums, new Float64Array(capacity * sumWidth))
    counts = extended(counts, new Int32Array(capacity * countWidth))
    isFarEast = extended(isFarEast, new Uint8Array(capacity))
  }
  const free = (slot: number): void => {
    slots.free(slot)
    buckets.remove(slot)
  }

  const addTo = <Values extends Float64Array | Int32Array>(values: Values, index: number, by: number): void => {
    values[index] = (values[index] ?? 0) + by
  }
  const addDevice = (slot: number, row: number, { latE7, lonE7, status, quality }: PlacedDevice, by: 1 | -1): void => {
    const turned = isFarEast[slot] === 1 && lonE7 < 0 ? lonE7 + turnE7 : lonE7
    addTo(sums, slot * sumWidth + sumLat, by * latE7)
    addTo(sums, slot * sumWidth + sumLon, by * turned)
    addTo(sums, slot * sumWidth + sumRow, by * row)
    addTo(counts, slot * countWidth + count, by)
    if (status < 2) addTo(counts, slot * countWidth + (status === 0 ? online : offline), by)
    if (quality < unknownQuality) addTo(counts, slot * countWidth + firstQuality + quality, by)
  }

  const meanOf = (slot: number): { lat: number; lon: number } => {
    const devices = countOf(slot)
    const lat = (sums[slot * sumWidth + sumLat] ?? 0) / devices / unitsPerDegree
    const lon = (sums[slot * sumWidth + sumLon] ?? 0) / devices / unitsPerDegree
    return { lat, lon: normalizeLongitude(lon) }
  }
  const worstOf = (slot: number): number => {
    for (let quality = 0; quality < unknownQuality; quality++) {
      if ((counts[slot * countWidth + firstQuality + quality] ?? 0) > 0) return quality
    }
    return unknownQuality
  }
  const settle = (slot: number): void => {
    if (countOf(slot) === 0) {
      free(slot)
      return
    }
    const { lat, lon } = meanOf(slot)
    buckets.place(slot, tileKey(tileOf(worldPoint(lat, lon), bucketZoom)))
  }

  return {
    cells: slots.cells,
    change(row, before, after) {
      if (row >= slotOfRow.length) slotOfRow = extended(slotOfRow, new Int32Array(2 * row))
      const left = before && (slotOfRow[row] ?? 0) - 1
      const isStanding = before && after && before.latE7 === after.latE7 && before.lonE7 === after.lonE7
      const entered = after && (isStanding ? left : slotOf(after))
      if (before && left !== undefined) addDevice(left, row, before, -1)
      if (after && entered !== undefined) addDevice(entered, row, after, 1)
      slotOfRow[row] = entered === undefined ? 0 : entered + 1
      if (left !== undefined && left !== entered) settle(left)
      if (entered !== undefined) settle(entered)
    },
    forEachCell(tile, visit) {
      buckets.forEach(tileKey(tile), (slot) =>
        visit({
          ...meanOf(slot),
          count: countOf(slot),
          online: counts[slot * countWidth + online] ?? 0,
          offline: counts[slot * countWidth + offline] ?? 0,
          worstQuality: worstOf(slot),
          byQuality: Array.from(
            { length: unknownQuality },
            (_, quality) => counts[slot * countWidth + firstQuality + quality] ?? 0,
          ),
          row: sums[slot * sumWidth + sumRow] ?? 0,
        }),
      )
    },
    bytes: () => slotOfRow.byteLength + isFarEast.length * cellBytes + slots.bytes() + buckets.bytes(),
  }
}

function extended<Values extends Float64Array | Int32Array | Uint8Array>(from: Values, into: Values): Values {
  into.set(from)
  return into
}
