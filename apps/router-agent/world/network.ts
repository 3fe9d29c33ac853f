import { integerBetween, numberBetween, uniform } from './noise.ts'
import { distanceM, offset, type Path, spotAt } from './paths.ts'
import type { City, PlacePoint } from './places.ts'

export type Terrain = 'city' | 'road' | 'mountains' | 'sea'

/** A site of one operator with three sectors. */
export type Site = {
  position: PlacePoint
  plmn: string
  /** 20 bits; an LTE cell identity is this × 256 + sector. */
  enodebId: number
  tac: number
  firstPci: number
  arfcn: number
  band: string
  bandwidthMhz: number
  azimuthDeg: number
  hasNr: boolean
  hasUmts: boolean
  seed: number
}

/** A section of a path with bad reception. `lossDb` weakens every cell; with `sky: false` there is no GNSS fix. */
export type Shadow = { fromM: number; toM: number; lossDb: number; sky: boolean }

/** The radio environment of a path for one operator. */
export type Surroundings = { terrain: Terrain; sites: Site[]; shadows: Shadow[] }

const townReachM = 6_000

/** Sites along a path, denser near towns; at sea only near both coasts. `plmns` ends with the operator of the far coast. */
export function sitesAlong(
  path: Path,
  terrain: Terrain,
  plmns: string[],
  towns: readonly PlacePoint[],
  seed: number,
): Site[] {
  const sites: Site[] = []
  for (let atM = 0, index = 0; atM <= path.lengthM; index += 1) {
    const spot = spotAt(path, atM)
    const here: PlacePoint = [spot.lat, spot.lon]
    const nearTown = terrain !== 'sea' && towns.some((town) => distanceM(town, here) < townReachM)
    const spacingM = terrain === 'sea' ? 6_000 : nearTown ? 1_500 : 4_500
    const fromCoastM = Math.min(atM, path.lengthM - atM)
    if (terrain !== 'sea' || fromCoastM < 6_000) {
      const plmn = plmns[atM < path.lengthM / 2 ? 0 : plmns.length - 1] ?? '00101'
      const sidewaysM = numberBetween(-0.35, 0.35, seed, index, 1) * spacingM
      sites.push(makeSite(offset(here, sidewaysM, sidewaysM / 2), plmn, nearTown, seed * 1_009 + index))
    }
    atM += spacingM * numberBetween(0.75, 1.25, seed, index, 2)
  }
  return sites
}

/** Sites in a city, about 800 m apart, with random offsets from a grid. */
export function sitesOver(city: City, plmn: string, seed: number): Site[] {
  const spacingM = 800
  const reach = Math.ceil((city.radiusKm * 1_000) / spacingM)
  const sites: Site[] = []
  for (let north = -reach; north <= reach; north += 1) {
    for (let east = -reach; east <= reach; east += 1) {
      if (Math.hypot(north, east) > reach) continue
      const jitter = (axis: number) => numberBetween(-0.3, 0.3, seed, north, east, axis) * spacingM
      const position = offset(city.centre, north * spacingM + jitter(1), east * spacingM + jitter(2))
      sites.push(makeSite(position, plmn, true, seed * 1_009 + (north + reach) * 64 + east + reach))
    }
  }
  return sites
}

function makeSite(position: PlacePoint, plmn: string, dense: boolean, seed: number): Site {
  const wide = dense && uniform(seed, 1) < 0.7
  return {
    position,
    plmn,
    enodebId: integerBetween(20_000, 900_000, seed, 2),
    tac: 10_000 + (Math.floor(position[0] * 4) % 100) * 100 + (Math.floor(position[1] * 4 + 720) % 100),
    firstPci: integerBetween(0, 167, seed, 3) * 3,
    arfcn: wide ? 1_300 : 6_300,
    band: wide ? '3' : '20',
    bandwidthMhz: wide ? 20 : 10,
    azimuthDeg: integerBetween(0, 119, seed, 4),
    hasNr: uniform(seed, 5) < (dense ? 0.6 : 0.12),
    hasUmts: uniform(seed, 6) < 0.8,
    seed,
  }
}

const shadowSettings: Record<Terrain, { everyM: number; tunnels: number; tunnelM: readonly [number, number] }> = {
  city: { everyM: 9_000, tunnels: 0.5, tunnelM: [120, 260] },
  road: { everyM: 14_000, tunnels: 0.25, tunnelM: [150, 290] },
  mountains: { everyM: 6_000, tunnels: 0.6, tunnelM: [180, 1_200] },
  sea: { everyM: Number.POSITIVE_INFINITY, tunnels: 0, tunnelM: [0, 0] },
}

/** Tunnels (no radio, no sky) and valleys (sky, weak radio) along a path. They are the same for every operator. */
export function shadowsAlong(path: Path, terrain: Terrain, seed: number): Shadow[] {
  const settings = shadowSettings[terrain]
  const shadows: Shadow[] = []
  const gap = (index: number) => settings.everyM * numberBetween(0.5, 1.5, seed, index, 1)
  let index = 0
  for (let atM = gap(0); atM < path.lengthM - 2_000; atM += gap(index)) {
    index += 1
    const tunnel = uniform(seed, index, 2) < settings.tunnels
    const lengthM = tunnel
      ? numberBetween(...settings.tunnelM, seed, index, 3)
      : numberBetween(400, terrain === 'city' ? 900 : 3_500, seed, index, 3)
    shadows.push({ fromM: atM, toM: atM + lengthM, lossDb: tunnel ? 90 : terrain === 'city' ? 22 : 42, sky: !tunnel })
    atM += lengthM
  }
  return shadows
}

/** The shadow at a chainage, if any. */
export const shadowAt = (shadows: readonly Shadow[], alongM: number): Shadow | undefined =>
  shadows.find(({ fromM, toM }) => alongM >= fromM && alongM <= toM)
