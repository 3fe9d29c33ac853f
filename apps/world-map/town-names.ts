import { worldPoint } from '#telemetry/geo/mercator'

export type NamedTown = { name: string; lat: number; lon: number; population: number; isCapital: boolean }

/**
 * A town's name on the map. `minZoom`: the zoom from which it is shown. `rank`: ten times the decimal logarithm of its weight, the
 * larger the more important. `x` and `y`: parts of the world's width, from the north-west corner.
 */
export type TownName = { name: string; x: number; y: number; minZoom: number; rank: number }

/** From this zoom on, all names are candidates, and only those that overlap on the screen are left out. */
export const allNamesZoom = 12
/** Between two names in pixels, east to west and north to south: about one name. */
const spacing = { x: 110, y: 56 }
/** The width of the world in pixels at zoom 0. */
const worldPx = 512
/** A capital weighs as much as a town of ten times its population. */
const capitalFactor = 10
/** The least weight of a town that is shown at each zoom. From the next zoom on, the distance alone decides. */
const leastWeights = [3e6, 3e6, 3e6, 2e6, 7e5, 2e5, 5e4, 1.5e4, 4e3]

const weightOf = ({ population, isCapital }: NamedTown): number =>
  Math.max(1, population) * (isCapital ? capitalFactor : 1)

/**
 * Returns the names of the towns, the most important first. A town appears at the lowest zoom that its weight allows and at which
 * no more important town is near, so a small town is named early where it is alone.
 */
export function townNames(towns: readonly NamedTown[]): TownName[] {
  const byWeight = towns.map((town) => ({ town, weight: weightOf(town) })).sort((a, b) => b.weight - a.weight)
  const names = byWeight.map(({ town, weight }): TownName => {
    const [x, y] = worldPoint(town.lat, town.lon)
    return { name: town.name, x, y, minZoom: allNamesZoom, rank: Math.round(10 * Math.log10(weight)) }
  })
  let waiting = [...names.keys()]
  for (let zoom = 0; zoom < allNamesZoom; zoom++) {
    const least = leastWeights[zoom] ?? 0
    const crowd = createCrowd(zoom)
    // The more important ones were considered at the zooms before, so their names are all there.
    for (const { x, y, minZoom } of names) if (minZoom < zoom) crowd.add(x, y)
    waiting = waiting.filter((index) => {
      const name = names[index]
      if (!name || (byWeight[index]?.weight ?? 0) < least || crowd.isNear(name.x, name.y)) return true
      name.minZoom = zoom
      crowd.add(name.x, name.y)
      return false
    })
  }
  return names
}

/** Positions on the map at a zoom, and whether one of them is closer than the spacing. */
function createCrowd(zoom: number) {
  const scale = worldPx * 2 ** zoom
  const cells = new Map<number, [x: number, y: number][]>()
  const columns = Math.ceil(scale / spacing.x) + 2
  const keyOf = (column: number, row: number) => row * columns + column
  const cellOf = (x: number, y: number) =>
    [Math.floor((x * scale) / spacing.x), Math.floor((y * scale) / spacing.y)] as const
  return {
    add(x: number, y: number): void {
      const key = keyOf(...cellOf(x, y))
      const cell = cells.get(key)
      if (cell) cell.push([x, y])
      else cells.set(key, [[x, y]])
    },
    isNear(x: number, y: number): boolean {
      const [column, row] = cellOf(x, y)
      for (const dx of [-1, 0, 1])
        for (const dy of [-1, 0, 1])
          for (const [otherX, otherY] of cells.get(keyOf(column + dx, row + dy)) ?? [])
            if (Math.abs(otherX - x) * scale < spacing.x && Math.abs(otherY - y) * scale < spacing.y) return true
      return false
    },
  }
}
