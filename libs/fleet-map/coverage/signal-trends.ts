import type { Clock } from '#core/clock'
import { createSharedReads } from '#core/shared-reads'
import { keyOf, type VoteRequest, voteFilters } from '#fleet-map/coverage/vote-filters'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'
import { momentsByStep, stepOf, type TrendStep, votesByOperator, votesByStep } from '#questdb/votes/signal-trend'
import { enoughVotes } from '#telemetry/coverage/dead-zones'
import { addMoments, type Moments, noMoments } from '#telemetry/coverage/moments'
import {
  type SignalSummary,
  type SignalVotes,
  summarizeSignal,
  worstSignalFirst,
} from '#telemetry/coverage/signal-trend'

/** The signal by time, oldest step first and without steps that have no votes, and by operator, worst first. */
type SignalTrend = {
  madeMs: number
  stepMs: number
  steps: (SignalSummary & { fromMs: number })[]
  operators: (SignalSummary & { plmn: string })[]
}

export type SignalTrends = {
  /** A trend that is at most a minute old for each hour of its step: a minute, six minutes or 24 minutes. */
  read(reader: Reader, request: VoteRequest): Promise<SignalTrend>
}

/** The longer the window, the more votes are read, and the less a new vote changes. */
const livesPerStep = 60
const maxRequests = 1_000
const maxOperators = 100

/** Trends, shared by all callers with the same request. */
export function createSignalTrends({ pools, clock }: { pools: FairPool; clock: Clock }): SignalTrends {
  const trends = createSharedReads<SignalTrend>({
    clock,
    maxSize: maxRequests,
    agesOf: ({ madeMs, stepMs }) => ({ freshUntilMs: madeMs + stepMs / livesPerStep }),
  })

  const make = async (reader: Reader, request: VoteRequest, step: TrendStep): Promise<SignalTrend> => {
    // Finish the trend even if this caller disconnects, because other callers wait for it.
    const { questdb, heavy } = reader.detached()
    const madeMs = clock()
    const filters = await voteFilters({ pool: pools.of(reader.owner), questdb }, request, madeMs)
    const [byStep, moments, byOperator] = await heavy(async () => [
      (await Promise.all(filters.map((filter) => votesByStep(questdb, filter, step)))).flat(),
      (await Promise.all(filters.map((filter) => momentsByStep(questdb, filter, step)))).flat(),
      (await Promise.all(filters.map((filter) => votesByOperator(questdb, filter)))).flat(),
    ])
    const momentsOf = Map.groupBy(moments, ({ stepMs }) => stepMs)
    return {
      madeMs,
      stepMs: step.stepMs,
      steps: summaries(
        byStep,
        ({ stepMs }) => stepMs,
        (stepMs) => (momentsOf.get(stepMs) ?? []).reduce(addMoments, noMoments),
      )
        .map(([fromMs, summary]) => ({ fromMs, ...summary }))
        .sort((a, b) => a.fromMs - b.fromMs),
      operators: summaries(byOperator, ({ plmn }) => plmn)
        .map(([plmn, summary]) => ({ plmn, ...summary }))
        .filter(({ samples }) => samples >= enoughVotes)
        .sort(worstSignalFirst)
        .slice(0, maxOperators),
    }
  }

  return {
    read(reader, request) {
      const step = stepOf(Math.max(0, ...request.organizations.map(({ windowMs }) => windowMs)))
      return trends.read(keyOf(request), () => make(reader, request, step))
    },
  }
}

const summaries = <Votes extends SignalVotes, Key>(
  votes: readonly Votes[],
  keyOf: (votes: Votes) => Key,
  momentsOf?: (key: Key) => Moments,
) => [...Map.groupBy(votes, keyOf)].map(([key, group]) => [key, summarizeSignal(group, momentsOf?.(key))] as const)
