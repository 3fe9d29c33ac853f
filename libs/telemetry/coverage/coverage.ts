import { cellToParent } from 'h3-js'
import { addTo } from '#core/counts'
import type { CellularRow } from '#telemetry/report/rows'
import { type Quality, type SignalThresholds, signalQuality } from './quality.ts'

const minuteMs = 60_000

/** The vote of a device's modem for a cell in a UTC minute: its newest row there. */
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

/** Votes of an operator, those with service among them, and their RSRP. */
type OperatorTally = { samples: number; inService: number; rsrp: Histogram }

export const emptyOperatorTally = (): OperatorTally => ({ samples: 0, inService: 0, rsrp: new Map() })

/** Votes of one cell, ready to be added to others. */
export type CellTally = {
  h3: string
  samples: number
  inService: number
  devices: Set<string>
  byRat: Map<string, number>
  byPlmn: Map<string, OperatorTally>
  rsrp: Histogram
  sinr: Histogram
  lastAtMs: number
}

export type Confidence = 'low' | 'medium' | 'high'

/** An operator in a cell: its votes, those without service included. Percentiles as in `CoverageCell`. */
type CellOperator = {
  samples: number
  serviceRatio: number
  rsrpDbm: Percentiles
  rsrpP50Dbm: number | null
  best: boolean
}

/** A cell of the coverage map. Percentiles are nearest rank over service votes, null where nothing was measured. */
export type CoverageCell = {
  h3: string
  samples: number
  devices: number
  serviceRatio: number
  rsrpDbm: { p10: number | null; p50: number | null; p90: number | null }
  sinrDb: { p10: number | null; p50: number | null }
  byRat: Record<string, number>
  byPlmn: Record<string, CellOperator>
  quality: Quality | null
  confidence: Confidence
  lastAtMs: number
}

const minBestSamples = 5
const bestMarginDb = 3
const bestServiceRatio = 0.9

/** The votes of aligned rows: one per device, modem, cell and UTC minute, so that a parked truck does not outvote traffic. */
export function coverageVotes(rows: Iterable<CellularRow & { deviceId: string }>): CoverageVote[] {
  const votes = new Map<string, CoverageVote>()
  for (const { deviceId, modem, h3Res10, tsMs, rat, plmn: ownPlmn, lostPlmn, rsrpDbm, sinrDb } of rows) {
    if (h3Res10 === null) continue
    const plmn = ownPlmn ?? lostPlmn
    const h3 = h3Res10.toString(16)
    const key = `${deviceId} ${h3} ${Math.floor(tsMs / minuteMs)} ${modem ?? ''}`
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
  const operator = vote.plmn === null ? undefined : (tally.byPlmn.get(vote.plmn) ?? emptyOperatorTally())
  if (operator && vote.plmn !== null) {
    operator.samples++
    tally.byPlmn.set(vote.plmn, operator)
  }
  if (!hasService(vote)) return
  tally.inService++
  if (vote.rsrpDbm !== null) addTo(tally.rsrp, dbBin(vote.rsrpDbm))
  if (vote.sinrDb !== null) addTo(tally.sinr, dbBin(vote.sinrDb))
  if (!operator) return
  operator.inService++
  if (vote.rsrpDbm !== null) addTo(operator.rsrp, dbBin(vote.rsrpDbm))
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
    const sum = target.byPlmn.get(plmn) ?? emptyOperatorTally()
    sum.samples += operator.samples
    sum.inService += operator.inService
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
export const nearestRank = (histogram: Histogram, share: number): number | null =>
  nearestRanks(histogram, [share])[0] ?? null

/** The nearest ranks of several shares in ascending order, with one sort. */
function nearestRanks(histogram: Histogram, shares: readonly number[]): (number | null)[] {
  if (histogram.size === 0) return shares.map(() => null)
  const bins = [...histogram]
  if (bins.length > 1) bins.sort(([a], [b]) => a - b)
  let total = 0
  for (const [, count] of bins) total += count
  let at = -1
  let reached = 0
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(share * total))
    while (reached < rank && at < bins.length - 1) reached += bins[++at]?.[1] ?? 0
    return bins[at]?.[0] ?? null
  })
}

type Percentiles = { p10: number | null; p50: number | null; p90: number | null }

/** The 10th, 50th and 90th percentile, nearest rank. */
export function percentilesOf(histogram: Histogram): Percentiles {
  const [p10 = null, p50 = null, p90 = null] = nearestRanks(histogram, [0.1, 0.5, 0.9])
  return { p10, p50, p90 }
}

/** Confidence of a cell. */
export function confidenceOf(samples: number, devices: number): Confidence {
  if (samples < 5 || devices < 2) return 'low'
  return samples >= 30 ? 'high' : 'medium'
}

type Compared = { plmn: string; samples: number; inService: number; median: number | null }

const isOftenServed = ({ samples, inService }: Compared): boolean => inService >= bestServiceRatio * samples

/**
 * Returns the operator that is clearly better than all others, or null: the only one that is rarely without service, or of those
 * the one with a median that is at least 3 dB better.
 */
export function bestPlmn(operators: readonly Compared[]): string | null {
  const known = operators.filter(({ samples }) => samples >= minBestSamples)
  const [first, second] = known
    .filter((operator) => operator.median !== null && isOftenServed(operator))
    .sort((a, b) => (b.median ?? 0) - (a.median ?? 0))
  if (first === undefined) return null
  if (second === undefined) return known.every(isOftenServed) ? null : first.plmn
  return (first.median ?? 0) - (second.median ?? 0) >= bestMarginDb ? first.plmn : null
}

/** A tally with the number of devices, which can be counted separately. */
type CountedTally = Omit<CellTally, 'devices'> & { devices: { readonly size: number } }

/** Returns the map cell of a tally. Its quality is that of the medians, or `none` if there was never service. */
export function coverageCell(tally: CountedTally, thresholds?: SignalThresholds): CoverageCell {
  const { h3, samples, inService, devices, rsrp, sinr, lastAtMs } = tally
  const rsrpDbm = percentilesOf(rsrp)
  const { p10, p50 } = percentilesOf(sinr)
  const sinrDb = { p10, p50 }
  const operators = [...tally.byPlmn].map(([plmn, operator]) => {
    const ownRsrpDbm = percentilesOf(operator.rsrp)
    return { plmn, ...operator, ownRsrpDbm, median: ownRsrpDbm.p50 }
  })
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
      operators.map(({ plmn, median, ownRsrpDbm, ...operator }) => [
        plmn,
        {
          samples: operator.samples,
          serviceRatio: operator.inService / operator.samples,
          rsrpDbm: ownRsrpDbm,
          rsrpP50Dbm: median,
          best: plmn === best,
        },
      ]),
    ),
    quality: signalQuality(signal, thresholds).quality,
    confidence: confidenceOf(samples, devices.size),
    lastAtMs,
  }
}
