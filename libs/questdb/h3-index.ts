import { cellToParent } from 'h3-js'

/** The resolution of the areas that are stored beside each vote, as `h3_5`. */
export const areaResolution = 5

/** Decimal text of an H3 index, as QuestDB returns and compares a LONG. */
export const longOfH3 = (h3: string): string => BigInt(`0x${h3}`).toString()

/** Hexadecimal text of an H3 index that QuestDB returned as a LONG. */
export const h3OfLong = (long: string): string => BigInt(long).toString(16)

/** The different cells of a coarser resolution that contain these cells. */
export const enclosingCells = (cells: readonly string[], resolution: number): string[] => [
  ...new Set(cells.map((h3) => cellToParent(h3, resolution))),
]

/** The areas that contain these cells, as decimal text. */
export const areasOf = (cells: readonly string[]): string[] => enclosingCells(cells, areaResolution).map(longOfH3)
