import { type CellLevels, type CellPart, isLastAt, rankAt } from './cell-levels.ts'
import { medianOf, sortedMedian } from './median.ts'
import { createNeighbours } from './neighbours.ts'
import { hundredths } from './packed-level.ts'
import type { Roster } from './roster.ts'

/** Shared cells without which nothing is known of a radio. */
export const minKnownCells = 10
/** Devices of a model from which its own offset is known. */
const minModelDevices = 5
/** A radio that is weaker than this is corrected where it is a neighbour. */
const weakBelowDb = -1.5
/** The first comparison and two with corrections. On real drives, more rounds change nothing. */
const rounds = 3

/** The differences of radios to their neighbours: one for each shared cell of a rank, ascending, in hundredths of a dB. */
type Differences = { countOf(rank: number): number; of(rank: number): Float32Array }

/** `modelOffsets`: what the radios of a model have in common, by rank in hundredths of a dB. NaN if nothing is known. */
type Offsets = { differences: Differences; modelOffsets: Float64Array }

/** Returns where the cells of each rank begin in a list by rank, and where the list ends. */
export function startsByRank(cells: CellLevels, radios: number): Uint32Array {
  const starts = new Uint32Array(radios + 1)
  for (const part of cells.parts)
    for (let entry = 0; entry < part.length; entry++) {
      const next = rankAt(part, entry) + 1
      starts[next] = (starts[next] ?? 0) + 1
    }
  for (let rank = 0; rank < radios; rank++) starts[rank + 1] = (starts[rank + 1] ?? 0) + (starts[rank] ?? 0)
  return starts
}

/**
 * Compares the radios cell by cell with their neighbours, whose levels are lessened by their corrections. The differences are
 * written to `values`, which has an element for each entry. `starts`: where those of each rank begin.
 */
function createComparison(
  cells: CellLevels,
  { radios, deviceOf }: Roster,
  { starts, values }: { starts: Uint32Array; values: Float32Array },
) {
  const neighbours = createNeighbours()
  let [corrected, devices, references] = [new Float64Array(256), new Uint32Array(256), new Float64Array(256)]
  const countOf = (rank: number) => (starts[rank + 1] ?? 0) - (starts[rank] ?? 0)
  const of = (rank: number) => values.subarray(starts[rank], starts[rank + 1])

  function readNeighbours(part: CellPart, from: number, count: number, corrections: Float64Array): void {
    if (corrected.length < count) {
      const size = 2 * count
      ;[corrected, devices, references] = [new Float64Array(size), new Uint32Array(size), new Float64Array(size)]
    }
    for (let index = 0; index < count; index++) {
      const rank = rankAt(part, from + index)
      corrected[index] = (part.levels[from + index] ?? 0) - (corrections[rank] ?? 0)
      devices[index] = deviceOf[rank] ?? 0
    }
  }

  /** Writes the differences of the radios of a part. `next`: by rank, where to write the next one. */
  function comparePart(part: CellPart, next: Uint32Array, corrections: Float64Array): void {
    for (let from = 0, to = 0; from < part.length; from = to) {
      while (!isLastAt(part, to)) to++
      const count = ++to - from
      readNeighbours(part, from, count, corrections)
      neighbours.referencesOf(corrected, devices, count, references)
      for (let index = 0; index < count; index++) {
        const rank = rankAt(part, from + index)
        const at = next[rank] ?? 0
        values[at] = (part.levels[from + index] ?? 0) - (references[index] ?? 0)
        next[rank] = at + 1
      }
    }
  }

  return (corrections: Float64Array): Differences => {
    const next = starts.slice()
    for (const part of cells.parts) comparePart(part, next, corrections)
    for (let rank = 0; rank < radios.length; rank++) of(rank).sort()
    return { countOf, of }
  }
}

/** The median difference of each radio by rank; NaN if it has too few shared cells. */
const mediansOf = ({ countOf, of }: Differences, radios: number): Float64Array =>
  Float64Array.from({ length: radios }, (_, rank) =>
    countOf(rank) < minKnownCells ? Number.NaN : sortedMedian(of(rank), countOf(rank)),
  )

/** The median offset of the devices of each radio's model, else of all devices. A device is one voice: the median of its radios. */
function modelOffsetsOf({ radios, deviceOf }: Roster, medians: Float64Array): Float64Array {
  const known = radios
    .map(({ model }, rank) => ({ model, device: deviceOf[rank], offset: medians[rank] ?? Number.NaN }))
    .filter(({ offset }) => !Number.isNaN(offset))
  const voices = [...Map.groupBy(known, ({ device }) => device).values()].map((ofDevice) => ({
    model: ofDevice[0]?.model ?? null,
    offset: medianOf(ofDevice.map(({ offset }) => offset)),
  }))
  const medianOffset = (some: typeof voices) => medianOf(some.map(({ offset }) => offset))
  const fleetOffset = medianOffset(voices)
  const offsets = new Map(
    [...Map.groupBy(voices, ({ model }) => model)]
      .filter(([model, ofModel]) => model !== null && ofModel.length >= minModelDevices)
      .map(([model, ofModel]) => [model, medianOffset(ofModel)]),
  )
  return Float64Array.from(radios, ({ model }) => offsets.get(model) ?? fleetOffset)
}

/**
 * Returns how all radios compare with their neighbours. A weak neighbour, or one of a deaf model, pulls the median of its cell
 * down, so that others look weak less often. Further rounds correct both by what the round before found. `values` is memory for
 * the differences, one for each entry.
 */
export function offsetsOf(cells: CellLevels, roster: Roster, values: Float32Array): Offsets {
  const starts = startsByRank(cells, roster.radios.length)
  const compare = createComparison(cells, roster, { starts, values })
  const corrections = new Float64Array(roster.radios.length)
  let differences = compare(corrections)
  for (let round = 1; ; round++) {
    const medians = mediansOf(differences, corrections.length)
    const modelOffsets = modelOffsetsOf(roster, medians)
    if (round === rounds) return { differences, modelOffsets }
    for (const [rank, median] of medians.entries()) {
      const modelOffset = modelOffsets[rank] || 0
      const isWeak = median - modelOffset <= weakBelowDb * hundredths
      corrections[rank] = isWeak ? median : modelOffset
    }
    differences = compare(corrections)
  }
}
