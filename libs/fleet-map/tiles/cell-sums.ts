import { type PlacedDevice, unitsPerDegree, unknownQuality } from '#fleet-map/tiles/device-table'
import { normalizeLongitude, type Point } from '#telemetry/geo/geo'

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

/** Sums of the devices of each cell, by the slot of the cell. */
export type CellSums = {
  /** Adds (1) or takes away (-1) the device of a row. */
  change(slot: number, row: number, device: PlacedDevice, by: 1 | -1): void
  count(slot: number): number
  /** Mean position of the devices. */
  meanOf(slot: number): Point
  countsOf(slot: number): CellCounts
  /** Prepares a slot for another cell. `isFarEast`: western longitudes count as more than 180°, so that means are right across the antimeridian. */
  begin(slot: number, isFarEast: boolean): void
  bytes(): number
}

// Per cell. Rows are summed as well: with one device left, the sum is its row. `turned`: western longitudes in a far eastern cell.
const [sumLat, sumLon, sumRow, sumWidth] = [0, 1, 2, 3]
const [count, online, offline, turned, firstQuality] = [0, 1, 2, 3, 4]
const countWidth = firstQuality + unknownQuality

const turnE7 = 360 * unitsPerDegree
const cellBytes = sumWidth * 8 + countWidth * 4 + 1

export function createCellSums(): CellSums {
  let sums = new Float64Array(1_024 * sumWidth)
  let counts = new Int32Array(1_024 * countWidth)
  let isFarEast = new Uint8Array(1_024)

  const grow = (capacity: number): void => {
    sums = extended(sums, new Float64Array(capacity * sumWidth))
    counts = extended(counts, new Int32Array(capacity * countWidth))
    isFarEast = extended(isFarEast, new Uint8Array(capacity))
  }
  const countAt = (slot: number, column: number): number => counts[slot * countWidth + column] ?? 0
  const meanOf = (slot: number): Point => {
    const devices = countAt(slot, count)
    const west = countAt(slot, turned)
    // Devices at one side of the antimeridian keep their longitudes, so that −180 stays −180.
    const turns = west < devices ? west : 0
    const lat = (sums[slot * sumWidth + sumLat] ?? 0) / devices / unitsPerDegree
    const lon = ((sums[slot * sumWidth + sumLon] ?? 0) + turns * turnE7) / devices / unitsPerDegree
    return { lat, lon: normalizeLongitude(lon) }
  }

  return {
    meanOf,
    count: (slot) => countAt(slot, count),
    begin(slot, isFar) {
      if (slot >= isFarEast.length) grow(2 * slot)
      isFarEast[slot] = isFar ? 1 : 0
    },
    change(slot, row, { latE7, lonE7, status, quality }, by) {
      addTo(sums, slot * sumWidth + sumLat, by * latE7)
      addTo(sums, slot * sumWidth + sumLon, by * lonE7)
      addTo(sums, slot * sumWidth + sumRow, by * row)
      addTo(counts, slot * countWidth + count, by)
      if (isFarEast[slot] === 1 && lonE7 < 0) addTo(counts, slot * countWidth + turned, by)
      if (status < 2) addTo(counts, slot * countWidth + (status === 0 ? online : offline), by)
      if (quality < unknownQuality) addTo(counts, slot * countWidth + firstQuality + quality, by)
    },
    countsOf(slot) {
      const byQuality = Array.from({ length: unknownQuality }, (_, quality) => countAt(slot, firstQuality + quality))
      const worst = byQuality.findIndex((devices) => devices > 0)
      return {
        ...meanOf(slot),
        count: countAt(slot, count),
        online: countAt(slot, online),
        offline: countAt(slot, offline),
        worstQuality: worst < 0 ? unknownQuality : worst,
        byQuality,
        row: sums[slot * sumWidth + sumRow] ?? 0,
      }
    },
    bytes: () => isFarEast.length * cellBytes,
  }
}

const addTo = <Values extends Float64Array | Int32Array>(values: Values, index: number, by: number): void => {
  values[index] = (values[index] ?? 0) + by
}

function extended<Values extends Float64Array | Int32Array | Uint8Array>(from: Values, into: Values): Values {
  into.set(from)
  return into
}
