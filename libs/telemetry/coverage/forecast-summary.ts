import { deadServiceRatio, enoughVotes } from './dead-zones.ts'
import type { ForecastSegment } from './forecast.ts'
import { type Quality, signalQuality } from './quality.ts'

/** Metres of a route, and the median of RSRP over its known part. */
type OperatorSummary = { knownM: number; deadM: number; poorM: number; rsrpP50Dbm: number | null }

export type ForecastSummary = {
  /** Metres with any votes around them. Dead and poor metres are among them and never the same. */
  knownM: number
  deadM: number
  poorM: number
  /** Dead segments in a row, from the start of the route on. */
  deadZones: { fromM: number; toM: number; lengthM: number }[]
  byPlmn: Record<string, OperatorSummary>
  recommendedPlmn: string | null
}

type Judged = { samples: number; serviceRatio: number | null; quality: Quality | null }

/** Returns whether there are enough votes to conclude that there is no usable service. */
const isDead = ({ samples, serviceRatio, quality }: Judged): boolean =>
  samples >= enoughVotes && ((serviceRatio !== null && serviceRatio < deadServiceRatio) || quality === 'none')

const isPoor = (judged: Judged): boolean => !isDead(judged) && (judged.quality === 'poor' || judged.quality === 'none')

/**
 * Sums up a route's segments, which must be in order and without gaps in their distances. No dead zone continues across the
 * start of a stretch.
 */
export function summarizeForecast(
  segments: readonly ForecastSegment[],
  stretches: readonly { fromM: number }[] = [],
): ForecastSummary {
  const byPlmn = summarizeOperators(segments)
  const known = segments.filter(({ confidence }) => confidence !== 'none')
  const summary = {
    knownM: lengthOf(known),
    deadM: lengthOf(known.filter(isDead)),
    poorM: lengthOf(known.filter(isPoor)),
  }
  return {
    ...summary,
    deadZones: deadStretches(segments, new Set(stretches.map(({ fromM }) => fromM))),
    byPlmn: Object.fromEntries(byPlmn),
    recommendedPlmn: recommendPlmn(byPlmn, summary.knownM),
  }
}

const lengthOf = (segments: readonly ForecastSegment[]): number =>
  segments.reduce((sum, { fromM, toM }) => sum + (toM - fromM), 0)

function deadStretches(
  segments: readonly ForecastSegment[],
  startsM: ReadonlySet<number>,
): ForecastSummary['deadZones'] {
  const stretches: ForecastSummary['deadZones'] = []
  let open: ForecastSummary['deadZones'][number] | undefined
  for (const segment of segments) {
    if (!isDead(segment)) {
      open = undefined
      continue
    }
    if (!open || startsM.has(segment.fromM)) {
      open = { fromM: segment.fromM, toM: segment.toM, lengthM: 0 }
      stretches.push(open)
    }
    open.toM = segment.toM
    open.lengthM = open.toM - open.fromM
  }
  return stretches
}

type Tally = { summary: OperatorSummary; medians: { rsrpDbm: number; lengthM: number }[] }

function summarizeOperators(segments: readonly ForecastSegment[]): Map<string, OperatorSummary> {
  const tallies = new Map<string, Tally>()
  for (const { fromM, toM, byPlmn } of segments) {
    const lengthM = toM - fromM
    for (const [plmn, { samples, serviceRatio, rsrpDbm }] of Object.entries(byPlmn)) {
      const tally = tallies.get(plmn) ?? { summary: { knownM: 0, deadM: 0, poorM: 0, rsrpP50Dbm: null }, medians: [] }
      tallies.set(plmn, tally)
      const { quality } = signalQuality({ rsrpDbm: rsrpDbm.p50 })
      const judged = { samples, serviceRatio, quality }
      tally.summary.knownM += lengthM
      if (isDead(judged)) tally.summary.deadM += lengthM
      else if (isPoor(judged)) tally.summary.poorM += lengthM
      if (rsrpDbm.p50 !== null) tally.medians.push({ rsrpDbm: rsrpDbm.p50, lengthM })
    }
  }
  return new Map(
    [...tallies].map(([plmn, { summary, medians }]) => [plmn, { ...summary, rsrpP50Dbm: medianByLength(medians) }]),
  )
}

function medianByLength(medians: { rsrpDbm: number; lengthM: number }[]): number | null {
  const half = medians.reduce((sum, { lengthM }) => sum + lengthM, 0) / 2
  let reachedM = 0
  for (const { rsrpDbm, lengthM } of medians.toSorted((a, b) => a.rsrpDbm - b.rsrpDbm)) {
    reachedM += lengthM
    if (reachedM >= half) return rsrpDbm
  }
  return null
}

// An operator that few devices use covers too little of the route to be compared.
const leastKnownShare = 0.5

/**
 * The operator with the fewest metres without service; of equals the one with the stronger median. Only operators with data on at
 * least half of the known part of the route are considered; null if there is none.
 */
function recommendPlmn(byPlmn: ReadonlyMap<string, OperatorSummary>, knownM: number): string | null {
  const [best] = [...byPlmn]
    .filter(([, operator]) => operator.knownM > 0 && operator.knownM >= knownM * leastKnownShare)
    .sort(
      ([plmnA, a], [plmnB, b]) =>
        // Sums of segments that are equally long can differ by a rounding error.
        Math.round(a.deadM) - Math.round(b.deadM) ||
        (b.rsrpP50Dbm ?? Number.NEGATIVE_INFINITY) - (a.rsrpP50Dbm ?? Number.NEGATIVE_INFINITY) ||
        (plmnA < plmnB ? -1 : 1),
    )
  return best ? best[0] : null
}
