import { ancestorOf, finestResolution } from '#telemetry/coverage/ancestor-cell'

/** The resolution of the areas that are stored beside each vote, as `h3_5`. */
export const areaResolution = 5

/** Cells of one resolution up to `areaResolution`, as decimal text of their H3 index. */
export type AreaSet = { resolution: number; indexes: readonly string[] }

const resolutionBit = 52n

/** Decimal text of an H3 index, as QuestDB returns and compares a LONG. */
export const longOfH3 = (h3: string): string => BigInt(`0x${h3}`).toString()

/** Hexadecimal text of an H3 index that QuestDB returned as a LONG. */
export const h3OfLong = (long: string): string => BigInt(long).toString(16)

/**
 * The bits that turn a cell into its ancestor: `(cell & kept) | set`. An H3 index holds its resolution in bits 52–55 and a
 * digit of three bits for each level below them; unused digits are all ones. So an ancestor is a coarser resolution and
 * more unused digits.
 */
export function ancestorBits(resolution: number): { kept: bigint; set: bigint } {
  let unused = 0n
  for (let level = resolution + 1; level <= finestResolution; level++) unused |= 0b111n << BigInt((15 - level) * 3)
  return {
    kept: (1n << 63n) - 1n - ((0b1111n << resolutionBit) | unused),
    set: (BigInt(resolution) << resolutionBit) | unused,
  }
}

/**
 * The indexes of the finest cells in a cell: all that are at least `first` and at most `last`. Stored cells have the same
 * resolution, so that they are sorted by their digits, and those of a cell are next to each other.
 */
export function finestRange(h3: string): { first: bigint; last: bigint } {
  const cell = BigInt(`0x${h3}`)
  const { kept, set } = ancestorBits(Number((cell >> resolutionBit) & 0b1111n))
  const unused = set & ((1n << resolutionBit) - 1n)
  const { set: finest } = ancestorBits(finestResolution)
  const first = (cell & kept) | finest
  return { first, last: first | unused }
}

/** The different cells of a coarser resolution that contain these cells, which have resolution 10 or coarser. */
export const enclosingCells = (cells: readonly string[], resolution: number): string[] => [
  ...new Set(cells.map((h3) => ancestorOf(h3, resolution))),
]

/** The stored areas that contain these cells. */
export const areasOf = (cells: readonly string[]): AreaSet => ({
  resolution: areaResolution,
  indexes: enclosingCells(cells, areaResolution).map(longOfH3),
})
