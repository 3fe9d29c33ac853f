/** The resolution of the cells that are stored. */
export const finestResolution = 10

/**
 * The cell of a coarser resolution, from 5 on, that contains a cell of at most resolution 10. Both are hexadecimal H3 indexes:
 * the second digit is the resolution, and unused levels are all ones. A level has three bits, level 10 begins at bit 15. A
 * route has thousands of cells, and this takes a tenth of the time of h3-js.
 */
export function ancestorOf(h3: string, resolution: number): string {
  const unusedLevels = (8 ** (finestResolution - resolution) - 1) << 15
  const levels = (Number.parseInt(h3.slice(-8), 16) | unusedLevels) >>> 0
  return `${h3.charAt(0)}${resolution.toString(16)}${h3.slice(2, -8)}${levels.toString(16).padStart(8, '0')}`
}
