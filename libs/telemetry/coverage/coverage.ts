import { cellToParent } from 'h3-js'
import { addTo } from '#core/counts'
import type { CellularRow } from '#telemetry/report/rows'
import { type Quality, type SignalThresholds, signalQuality } from './quality.ts'

const minuteMs = 60_000

/** The vote of a device for a cell in a UTC minute: its newest row there. */
export type CoverageVote = {
  deviceId: string
  h3: string
  tsMs: number
  rat: string | null
  plmn: string | null
  rsrpDbm: number | null
  sinrDb: number | null
}

/** Counts by whole dB. Adding histograms is how cells, operators, hours and coarser resolutions are merged. */
export type Histogram = Map<number, number>

/** Votes of one cell, ready to be added to others. */
export type CellTally = {
  h3: string
  samples: number
  inService: number
  devices: Set<string>
  byRat: Map<string, number>
  /** Service votes of an operator and its RSRP. */
  byPlmn: Map<string, { samples: number; rsrp: Histogram }>
  rsrp: Histogram
  sinr: Histogram
  lastAtMs: number
}

export type Confidence = 'low' | 'medium' | 'high'

/** A cell of the coverage map. Percentiles are nearest rank over service votes, null where nothing was measured. */
export type CoverageCell = {
  h3: string
  samples: number
  devices: number
  serviceRatio: number
  rsrpDbm: { p10: number | null; p50: number | null; p90: number | null }
  sinrDb: { p10: number | null; p50: number | null }
  byRat: Record<string, number>
  byPlmn: Record<string, { samples: number; rsrpP50Dbm: number | null; best: boolean }>
  quality: Quality | null
  confidence: Confidence
  lastAtMs: number
}

const minBestSamples = 5
const bestMarginDb = 3

/** The votes of aligned rows: one per device, cell and UTC minute, so that a parked truck does not outvote traffic. */
export function coverageVotes(rows: Iterable<CellularRow & { deviceId: string }>): CoverageVote[] {
  const votes = new Map<string, CoverageVote>()
  for (const { deviceId, h3Res10, tsMs, rat, plmn, rsrpDbm, sinrDb } of rows) {
    if (h3Res10 === null) continue
    const h3 = h3Res10.toString(16)
    const key = `${deviceId} ${h3} ${Math.floor(tsMs / minuteMs)}`
    const earlier = votes.get(key)
    if (earlier === undefined || tsMs >= earlier.tsMs)
      votes.set(key, { deviceId, h3, tsMs, rat, plmn, rsrpDbm, sinrDb })
  }
  return [...votes.values()]
}

export const hasService = ({ rat }: Pick<CoverageVote, 'rat'>): boolean => rat !== 'none'

/** A bin holds the values that round to it, halves upwards. */
export const dbBin = (value: number): number => Math.floor(value + 0.5)

export function emptyTally(h3: string): CellTally {
  return {
    h3,
    samples: 0,
    inService: 0,
    devices: new Set(),
    byRat: new Map(),
    byPlmn: new Map(),
    rsrp: new Map(),
    sinr: new Map(),
    lastAtMs: 0,
  }
}

function addVote(tally: CellTally, vote: CoverageVote): void {
  tally.samples++
  tally.devices.add(vote.deviceId)
  tally.lastAtMs = Math.max(tally.lastAtMs, vote.tsMs)
  addTo(tally.byRat, vote.rat ?? 'unknown')
  if (!hasService(vote)) return
  tally.inService++
  if (vote.rsrpDbm !== null) addTo(tally.rsrp, dbBin(vote.rsrpDbm))
  if (vote.sinrDb !== null) addTo(tally.sinr, dbBin(vote.sinrDb))
  if (vote.plmn === null) return
  const operator = tally.byPlmn.get(vote.plmn) ?? { samples: 0, rsrp: new Map() }
  operator.samples++
  if (vote.rsrpDbm !== null) addTo(operator.rsrp, dbBin(vote.rsrpDbm))
  tally.byPlmn.set(vote.plmn, operator)
}

function addHistogram(target: Histogram, added: Histogram): void {
  for (const [bin, count] of added) addTo(target, bin, count)
}

/** Adds a tally to another: of the same cell at another time, or of a child to its parent. */
export function mergeTally(target: CellTally, added: CellTally): void {
  target.samples += added.samples
  target.inService += added.inService
  target.lastAtMs = Math.max(target.lastAtMs, added.lastAtMs)
  for (const device of added.devices) target.devices.add(device)
  for (const [rat, count] of added.byRat) addTo(target.byRat, rat, count)
  for (const [plmn, operator] of added.byPlmn) {
    const sum = target.byPlmn.get(plmn) ?? { samples: 0, rsrp: new Map() }
    sum.samples += operator.samples
    addHistogram(sum.rsrp, operator.rsrp)
    target.byPlmn.set(plmn, sum)
  }
  addHistogram(target.rsrp, added.rsrp)
  addHistogram(target.sinr, added.sinr)
}

/** Votes added up by cell at a resolution of 10 or coarser. */
export function tallyVotes(votes: Iterable<CoverageVote>, resolution = 10): Map<string, CellTally> {
  const tallies = new Map<string, CellTally>()
  for (const vote of votes) {
    const h3 = resolution === 10 ? vote.h3 : cellToParent(vote.h3, resolution)
    const tally = tallies.get(h3) ?? emptyTally(h3)
    addVote(tally, vote)
    tallies.set(h3, tally)
  }
  return tallies
}

/** Returns the smallest bin that at least this share of the values does not exceed. Null without values. */
export function nearestRank(histogram: Histogram, share: number): number | null {
  let total = 0
  for (const count of histogram.values()) total += count
  const rank = Math.max(1, Math.ceil(share * total))
  let reached = 0
  for (const [bin, count] of [...histogram].sort(([a], [b]) => a - b)) {
    reached += count
    if (reached >= rank) return bin
  }
  return null
}

/** Confidence of a cell. */
export function confidenceOf(samples: number, devices: number): Confidence {
  if (samples < 5 || devices < 2) return 'low'
  return samples >= 30 ? 'high' : 'medium'
}

/** Returns the operator that is clearly better than all others, or null. */
export function bestPlmn(operators: { plmn: string; samples: number; median: number | null }[]): string | null {
  const [first, second] = operators
    .filter((operator) => operator.samples >= minBestSamples && operator.median !== null)
    .sort((a, b) => (b.median ?? 0) - (a.median ?? 0))
  if (first === undefined || second === undefined) return null
  return (first.median ?? 0) - (second.median ?? 0) >= bestMarginDb ? first.plmn : null
}

/** A tally with the number of devices, which can be counted separately. */
type CountedTally = Omit<CellTally, 'devices'> & { devices: { readonly size: number } }

/** Returns the map cell of a tally. Its quality is that of the medians, or `none` if there was never service. */
export function coverageCell(tally: CountedTally, thresholds?: SignalThresholds): CoverageCell {
  const { h3, samples, inService, devices, rsrp, sinr, lastAtMs } = tally
  const rsrpDbm = { p10: nearestRank(rsrp, 0.1), p50: nearestRank(rsrp, 0.5), p90: nearestRank(rsrp, 0.9) }
  const sinrDb = { p10: nearestRank(sinr, 0.1), p50: nearestRank(sinr, 0.5) }
  const operators = [...tally.byPlmn].map(([plmn, operator]) => ({
    plmn,
    samples: operator.samples,
    median: nearestRank(operator.rsrp, 0.5),
  }))
  const best = bestPlmn(operators)
  const signal = { rat: inService === 0 ? 'none' : 'lte', rsrpDbm: rsrpDbm.p50, sinrDb: sinrDb.p50 }
  return {
    h3,
    samples,
    devices: devices.size,
    serviceRatio: samples === 0 ? 0 : inService / samples,
    rsrpDbm,
    sinrDb,
    byRat: Object.fromEntries(tally.byRat),
    byPlmn: Object.fromEntries(
      operators.map(({ plmn, samples: count, median }) => [
        plmn,
        { samples: count, rsrpP50Dbm: median, best: plmn === best },
      ]),
    ),
    quality: signalQuality(signal, thresholds).quality,
    confidence: confidenceOf(samples, devices.size),
    lastAtMs,
  }
}
