import type { VoteCount } from '#questdb/coverage'
import { type Quality, signalQuality } from '#telemetry/quality'

/** Counts per whole dB. */
type Histogram = Map<number, number>

/** `best`: clearly the strongest operator here. */
export type OperatorCoverage = { samples: number; serviceRatio: number; rsrpP50Dbm: number | null; best: boolean }

export type CoverageCell = {
  h3: string
  /** Votes: one per device and minute. */
  samples: number
  devices: number
  /** Votes with service / votes. */
  serviceRatio: number
  rsrpDbm: { p10: number | null; p50: number | null; p90: number | null }
  sinrDb: { p10: number | null; p50: number | null }
  quality: Quality | null
  confidence: 'low' | 'medium' | 'high'
  lastAt: string
  /** Votes by radio access technology; `none` is no service, `unknown` was not sent. */
  byRat: Record<string, number>
  byPlmn: Record<string, OperatorCoverage>
}

type Gathered = {
  votes: number
  served: number
  rsrp: Histogram
  sinr: Histogram
  byRat: Record<string, number>
  byPlmn: Map<string, { votes: number; served: number; rsrp: Histogram }>
  lastAtMs: number
}

const bestNeedsVotes = 5
const bestNeedsDb = 3

/** One cell for each H3 index that has votes; `voters` says how many devices cast them. */
export function coverageCells(votes: Iterable<VoteCount>, voters: ReadonlyMap<string, number>): CoverageCell[] {
  const gathered = new Map<string, Gathered>()
  for (const vote of votes) {
    let cell = gathered.get(vote.h3)
    if (!cell) {
      cell = { votes: 0, served: 0, rsrp: new Map(), sinr: new Map(), byRat: {}, byPlmn: new Map(), lastAtMs: 0 }
      gathered.set(vote.h3, cell)
    }
    gather(cell, vote)
  }
  return [...gathered].map(([h3, cell]) => cellOf(h3, cell, voters.get(h3) ?? 0))
}

function gather(cell: Gathered, vote: VoteCount): void {
  const rat = vote.rat ?? 'unknown'
  const isServed = rat !== 'none'
  cell.votes += vote.votes
  cell.byRat[rat] = (cell.byRat[rat] ?? 0) + vote.votes
  cell.lastAtMs = Math.max(cell.lastAtMs, vote.lastAtMs)
  if (isServed) {
    cell.served += vote.votes
    add(cell.rsrp, vote.rsrpBin, vote.votes)
    add(cell.sinr, vote.sinrBin, vote.votes)
  }
  if (vote.plmn === null) return
  const operator = cell.byPlmn.get(vote.plmn) ?? { votes: 0, served: 0, rsrp: new Map() }
  cell.byPlmn.set(vote.plmn, operator)
  operator.votes += vote.votes
  if (!isServed) return
  operator.served += vote.votes
  add(operator.rsrp, vote.rsrpBin, vote.votes)
}

function add(histogram: Histogram, bin: number | null, votes: number): void {
  if (bin !== null) histogram.set(bin, (histogram.get(bin) ?? 0) + votes)
}

/** Nearest-rank percentiles, in the order asked for; null when nothing was counted. */
export function percentiles(histogram: Histogram, ...percents: number[]): (number | null)[] {
  const bins = [...histogram].sort(([a], [b]) => a - b)
  const total = bins.reduce((sum, [, votes]) => sum + votes, 0)
  return percents.map((percent) => {
    let left = Math.max(1, Math.ceil((percent / 100) * total))
    for (const [bin, votes] of bins) {
      left -= votes
      if (left <= 0) return bin
    }
    return null
  })
}

function cellOf(h3: string, cell: Gathered, devices: number): CoverageCell {
  const [p10 = null, p50 = null, p90 = null] = percentiles(cell.rsrp, 10, 50, 90)
  const [sinrP10 = null, sinrP50 = null] = percentiles(cell.sinr, 10, 50)
  return {
    h3,
    samples: cell.votes,
    devices,
    serviceRatio: cell.served / cell.votes,
    rsrpDbm: { p10, p50, p90 },
    sinrDb: { p10: sinrP10, p50: sinrP50 },
    quality: cell.served === 0 ? 'none' : signalQuality({ rsrpDbm: p50, sinrDb: sinrP50 }).quality,
    confidence: confidenceOf(cell.votes, devices),
    lastAt: new Date(cell.lastAtMs).toISOString(),
    byRat: cell.byRat,
    byPlmn: operatorsOf(cell.byPlmn),
  }
}

function confidenceOf(votes: number, devices: number): CoverageCell['confidence'] {
  if (votes < 5 || devices <= 1) return 'low'
  return votes >= 30 ? 'high' : 'medium'
}

/** An operator is best when enough votes say so and no other comes within 3 dB of it at the median. */
function operatorsOf(gathered: Gathered['byPlmn']): Record<string, OperatorCoverage> {
  const operators = [...gathered].map(([plmn, { votes, served, rsrp }]) => {
    const [rsrpP50Dbm = null] = percentiles(rsrp, 50)
    return { plmn, samples: votes, serviceRatio: served / votes, rsrpP50Dbm, best: false }
  })
  const rated = operators
    .filter(({ samples, rsrpP50Dbm }) => samples >= bestNeedsVotes && rsrpP50Dbm !== null)
    .sort((a, b) => (b.rsrpP50Dbm ?? 0) - (a.rsrpP50Dbm ?? 0))
  const [first, second] = rated
  if (first && second && (first.rsrpP50Dbm ?? 0) - (second.rsrpP50Dbm ?? 0) >= bestNeedsDb) first.best = true
  return Object.fromEntries(operators.map(({ plmn, ...operator }) => [plmn, operator]))
}
