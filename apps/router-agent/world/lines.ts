import {
  type Shadow,
  type Site,
  type Surroundings,
  shadowsAlong,
  sitesAlong,
  sitesOver,
  type Terrain,
} from './network.ts'
import { integerBetween } from './noise.ts'
import { type Path, walkStreets, windThrough } from './paths.ts'
import { cities, corridors, seaLanes } from './places.ts'

/** A road, the streets of a city or a sea lane, with its mobile networks; shared by all routers on it. */
export type Line = {
  line: string
  terrain: Terrain
  path: Path
  plmns: string[]
  sitesOf: (plmn: string) => Site[]
  shadows: Shadow[]
}

/** Every road corridor, then every city. */
export function makeRoads(seed: number): Line[] {
  const onCorridors = corridors.map(({ line, plmn, through, mountains }, index): Line => {
    const terrain: Terrain = mountains ? 'mountains' : 'road'
    const path = windThrough(through, mountains ? 0.11 : 0.05, seed + index)
    const sitesOf = cacheByOperator((operator, salt) =>
      sitesAlong(path, terrain, [operator], through, seed * 31 + index * 7 + salt),
    )
    return { line, terrain, path, plmns: plmn, sitesOf, shadows: shadowsAlong(path, terrain, seed + index) }
  })
  const inCities = cities.map((city, index): Line => {
    const path = walkStreets(city, seed + 100 + index)
    const sitesOf = cacheByOperator((operator, salt) => sitesOver(city, operator, seed * 37 + index * 11 + salt))
    return {
      line: city.line,
      terrain: 'city',
      path,
      plmns: city.plmn,
      sitesOf,
      shadows: shadowsAlong(path, 'city', seed + index),
    }
  })
  return [...onCorridors, ...inCities]
}

export const makeLanes = (seed: number): Line[] =>
  seaLanes.map(({ line, plmn, through }, index) => {
    const path = windThrough(through, 0.01, seed + 200 + index, 1_000)
    const sitesOf = cacheByOperator(() => sitesAlong(path, 'sea', plmn, through, seed * 41 + index))
    return { line, terrain: 'sea', path, plmns: plmn, sitesOf, shadows: [] }
  })

/** Caches the sites of each operator on a line, which all routers there share. */
function cacheByOperator(make: (plmn: string, salt: number) => Site[]): (plmn: string) => Site[] {
  const known = new Map<string, Site[]>()
  return (plmn) => {
    const sites = known.get(plmn) ?? make(plmn, Number(plmn) % 97)
    known.set(plmn, sites)
    return sites
  }
}

export const homeOperator = (line: Line, seed: number): string =>
  line.plmns[integerBetween(0, line.plmns.length - 1, seed, 10)] ?? '00101'

/** The surroundings of a line for subscribers of one operator. */
export const surroundingsOn = (line: Line, plmn: string): Surroundings => ({
  terrain: line.terrain,
  sites: line.sitesOf(plmn),
  shadows: line.shadows,
})
