import { cellToParent } from 'h3-js'
import type { ToldCell } from './forecast.ts'

/** Divides different cells into as few lists as possible in which no cell contains another. */
export function disjointLayers(cells: readonly ToldCell[]): ToldCell[][] {
  const known = new Set(cells.map(({ h3 }) => h3))
  const resolutions = [...new Set(cells.map(({ h3Resolution }) => h3Resolution))]
  const layers: ToldCell[][] = []
  for (const cell of cells) {
    const coarser = resolutions.filter((resolution) => resolution < cell.h3Resolution)
    const depth = coarser.filter((resolution) => known.has(cellToParent(cell.h3, resolution))).length
    const layer = layers[depth]
    if (layer) layer.push(cell)
    else layers[depth] = [cell]
  }
  return layers
}
