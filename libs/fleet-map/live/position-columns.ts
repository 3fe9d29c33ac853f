import { type BoundingBox, contains, type Point } from '#telemetry/geo/geo'

/** The last positions of a map's devices by ordinal, so that a search for a box does not visit every device. */
export type PositionColumns = {
  set(ordinal: number, position: Point): void
  remove(ordinal: number): void
  /** The ordinals of the positions in a box, ascending. A million positions take a few milliseconds. */
  within(box: BoundingBox): Generator<number>
}

const initialCapacity = 64

export function createPositionColumns(): PositionColumns {
  // NaN, which is in no box, stands for a device without a position.
  let latitudes = new Float64Array(initialCapacity).fill(Number.NaN)
  let longitudes = new Float64Array(initialCapacity).fill(Number.NaN)
  let end = 0
  return {
    set(ordinal, { lat, lon }) {
      if (ordinal >= latitudes.length) {
        latitudes = grown(latitudes, ordinal)
        longitudes = grown(longitudes, ordinal)
      }
      latitudes[ordinal] = lat
      longitudes[ordinal] = lon
      end = Math.max(end, ordinal + 1)
    },
    remove(ordinal) {
      if (ordinal < end) latitudes[ordinal] = Number.NaN
    },
    *within(box) {
      for (let ordinal = 0; ordinal < end; ordinal++) {
        if (contains(box, latitudes[ordinal] ?? Number.NaN, longitudes[ordinal] ?? Number.NaN)) yield ordinal
      }
    },
  }
}

function grown(column: Float64Array, ordinal: number) {
  const larger = new Float64Array(Math.ceil((ordinal + 1) * 1.25)).fill(Number.NaN)
  larger.set(column)
  return larger
}
