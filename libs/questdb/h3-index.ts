import { cellToParent } from 'h3-js'

/** The resolution of the areas that are stored beside each vote, as `h3_5`. */
export const areaResolution = 5

/** Decimal text of an H3 index, as QuestDB returns and compares a LONG. */
export const longOfH3 = (h3: string): string => BigInt(`0x${h3}`).toString()

/** Hexadecimal text of an H3 index that QuestDB returned as a LONG. */
export const h3OfLong = (long: string): string => BigInt(long).toString(16)

/** The areas that contain these cells, as decimal text. */
export const areasOf = (cells: readonly string[]): string[] => [
  ...new Set(cells.map((h3) => longOfH3(cellToParent(h3, areaResolution)))),
]
