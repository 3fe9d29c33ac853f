import { createBuckets } from '#fleet-map/live/buckets'
import { type PlacedDevice, unitsPerDegree } from '#fleet-map/tiles/device-table'
import { type Tile, tileKey, tileOf } from '#fleet-map/tiles/tile-math'
import { worldPoint } from '#telemetry/geo/mercator'

/** Part of an index of devices that follows each change of a device. */
export type Level = {
  /** Applies the change of a row. `before` or `after` is undefined if the device was or is not placed. */
  change(row: number, before: PlacedDevice | undefined, after: PlacedDevice | undefined): void
  bytes(): number
}

export type PointLevel = Level & {
  /** Visits the rows of the devices in a tile of the level's bucket zoom. */
  forEachRow(tile: Tile, visit: (row: number) => void): void
}

/** Devices by the tile of `bucketZoom` that contains them. */
export function createPointLevel(bucketZoom: number): PointLevel {
  const buckets = createBuckets()
  return {
    change(row, _before, after) {
      if (after) buckets.place(row, tileKey(tileOf(worldOf(after), bucketZoom)))
      else buckets.remove(row)
    },
    forEachRow: (tile, visit) => buckets.forEach(tileKey(tile), visit),
    bytes: buckets.bytes,
  }
}

/** The position of a placed device on the map. */
export const worldOf = ({ latE7, lonE7 }: PlacedDevice) => worldPoint(latE7 / unitsPerDegree, lonE7 / unitsPerDegree)
