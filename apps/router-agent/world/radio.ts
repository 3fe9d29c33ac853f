import { degreeM, radians } from '#telemetry/geo/geo'
import { type Site, type Surroundings, shadowAt } from './network.ts'
import { gaussian, smoothGaussian, uniform } from './noise.ts'
import type { Spot } from './paths.ts'

/** One cell as a modem measures it. `sector` is 0..2 of the site. */
export type Cell = { site: Site; sector: number; rsrpDbm: number }

export type Reception = {
  rat: 'nr-nsa' | 'lte' | 'umts' | 'none'
  serving: Cell | undefined
  neighbours: Cell[]
  sinrDb: number
  rsrqDb: number
  rssiDbm: number
  nr: { rsrpDbm: number; sinrDb: number; rsrqDb: number } | undefined
}

const handoverMarginDb = 3
const lteFloorDbm = -122
const umtsFloorDbm = -128
const nrFloorDbm = -115
/** Thermal noise in one 15 kHz resource element with a noise figure of 7 dB. */
const noiseDbm = -125
/** One resource element of a 46 dBm carrier, the antenna's gain, less cables, foliage and the vehicle's body. */
const transmitDbm = 18 + 15 - 11
const reachDegrees = 0.5

/** What a router adds: `antennaLossDb` weakens every cell, as a loose cable does. */
type Receiving = { seed: number; antennaLossDb: number }

/**
 * Computes the reception at a place and time: path loss by distance (3GPP TR 36.942 urban, a lower exponent in open country
 * and over water), sector pattern, shadowing that changes over 80 m, interference from other sites. The modem stays on
 * `current` (`enodebId × 256 + sector`) until another cell is 3 dB better.
 */
export function receive(
  surroundings: Surroundings,
  spot: Spot,
  alongM: number,
  atMs: number,
  { seed: routerSeed, antennaLossDb }: Receiving,
  current: number | undefined,
): Reception {
  const lossDb = (shadowAt(surroundings.shadows, alongM)?.lossDb ?? 0) + antennaLossDb
  const cells = surroundings.sites
    .filter((site) => isNear(site, spot))
    .map((site) => measureCell(site, surroundings.terrain, spot, alongM, lossDb))
    .sort((stronger, weaker) => weaker.rsrpDbm - stronger.rsrpDbm)
  const best = cells[0]
  if (!best || best.rsrpDbm <= umtsFloorDbm) return nothing
  const held = cells.find((cell) => cellIdentity(cell) === current)
  const chosen = held && held.rsrpDbm + handoverMarginDb >= best.rsrpDbm && held.rsrpDbm > lteFloorDbm ? held : best
  const jitterDb = gaussian(routerSeed, atMs, 1) * 1.3
  const serving = { ...chosen, rsrpDbm: chosen.rsrpDbm + jitterDb }
  const neighbours = cells.filter((cell) => cell !== chosen && cell.rsrpDbm > -130).slice(0, 4)
  if (best.rsrpDbm <= lteFloorDbm) {
    if (!best.site.hasUmts) return nothing
    return { ...nothing, rat: 'umts', serving, rssiDbm: Math.max(-112, best.rsrpDbm + 20 + jitterDb) }
  }
  const load = 0.25 + 0.5 * uniform(serving.site.seed, Math.floor(atMs / 60_000))
  const othersMw = neighbours.reduce((sum, cell) => sum + milliwatts(cell.rsrpDbm) * load * 0.8, 0)
  const signalMw = milliwatts(serving.rsrpDbm)
  // Imperfections of the transmitter limit SINR to about 28 dB at any distance.
  const disturbanceMw = othersMw + milliwatts(noiseDbm) + signalMw / 700
  const sinrDb = decibels(signalMw / disturbanceMw)
  const rsrqDb = decibels(signalMw / (12 * (signalMw * load + disturbanceMw)))
  const resourceBlocks = serving.site.bandwidthMhz * 5
  return {
    rat: 'lte',
    serving,
    neighbours,
    sinrDb,
    rsrqDb,
    rssiDbm: serving.rsrpDbm + decibels(resourceBlocks) - rsrqDb,
    nr: undefined,
    ...secondLeg(serving, sinrDb, atMs, routerSeed),
  }
}

export const cellIdentity = ({ site, sector }: Cell): number => site.enodebId * 256 + sector

const nothing: Reception = {
  rat: 'none',
  serving: undefined,
  neighbours: [],
  sinrDb: 0,
  rsrqDb: 0,
  rssiDbm: -113,
  nr: undefined,
}

/** EN-DC: an NR leg in addition to the LTE anchor, where the site has NR and 3.5 GHz is strong enough. */
function secondLeg(anchor: Cell, anchorSinrDb: number, atMs: number, seed: number): Partial<Reception> {
  const rsrpDbm = anchor.rsrpDbm - 7 + gaussian(seed, atMs, 2) * 2
  if (!anchor.site.hasNr || rsrpDbm < nrFloorDbm) return {}
  const sinrDb = anchorSinrDb + 2 + gaussian(seed, atMs, 3) * 2
  return { rat: 'nr-nsa', nr: { rsrpDbm, sinrDb, rsrqDb: Math.max(-19, Math.min(-10, -12 + sinrDb / 8)) } }
}

const isNear = ({ position }: Site, { lat, lon }: Spot): boolean =>
  Math.abs(position[0] - lat) < reachDegrees && Math.abs(position[1] - lon) < reachDegrees

function measureCell(site: Site, terrain: Surroundings['terrain'], spot: Spot, alongM: number, lossDb: number): Cell {
  const northM = (spot.lat - site.position[0]) * degreeM
  const eastM = (spot.lon - site.position[1]) * degreeM * Math.cos(spot.lat * radians)
  const distanceKm = Math.max(0.05, Math.hypot(northM, eastM) / 1_000)
  const bearingDeg = Math.atan2(eastM, northM) / radians - site.azimuthDeg
  const sector = (((Math.round(bearingDeg / 120) % 3) + 3) % 3) as 0 | 1 | 2
  const offAxisDeg = bearingDeg - Math.round(bearingDeg / 120) * 120
  const patternDb = Math.min(20, 12 * (offAxisDeg / 65) ** 2)
  const slope = Math.log10(distanceKm)
  const pathLossDb = terrain === 'city' ? 128.1 + 37.6 * slope : terrain === 'sea' ? 105 + 30 * slope : 110 + 35 * slope
  const shadowingDb = smoothGaussian(alongM / 80, site.seed) * (terrain === 'sea' ? 3 : 6.5)
  return { site, sector, rsrpDbm: Math.min(-48, transmitDbm - patternDb - pathLossDb - lossDb + shadowingDb) }
}

const milliwatts = (dbm: number): number => 10 ** (dbm / 10)
const decibels = (ratio: number): number => 10 * Math.log10(ratio)
