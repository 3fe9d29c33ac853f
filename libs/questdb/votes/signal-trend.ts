import type { QuestdbSql } from '#questdb/server/sql'
import type { Moments } from '#telemetry/coverage/moments'
import type { SignalVotes } from '#telemetry/coverage/signal-trend'
import { momentParts, timedVoteParts, type VoteFilter, voteParts } from './coverage-source.ts'

const hourMs = 3_600_000

/** The steps of a trend, in UTC. */
const steps = [
  { stepMs: hourMs, sql: '1h', upToMs: 48 * hourMs },
  { stepMs: 6 * hourMs, sql: '6h', upToMs: 240 * hourMs },
  { stepMs: 24 * hourMs, sql: '1d', upToMs: Number.POSITIVE_INFINITY },
] as const

export type TrendStep = (typeof steps)[number]

/** The step of a window: hours up to two days, six hours up to ten days, and days. At most 91 steps fit into 90 days. */
export const stepOf = (windowMs: number): TrendStep => steps.find(({ upToMs }) => windowMs <= upToMs) ?? steps[2]

/** More operators than any fleet has, times the values of RSRP. */
const maxOperatorRows = 50_000

const served = "(rat IS NULL OR rat != 'none')"

export type StepVotes = SignalVotes & { stepMs: number }
export type PlmnVotes = SignalVotes & { plmn: string }

/** Counts votes by step, service and RSRP. Equal votes may be split over two counts; add them up. */
export async function votesByStep(questdb: QuestdbSql, filter: VoteFilter, { sql }: TrendStep): Promise<StepVotes[]> {
  const perPart = await Promise.all(
    timedVoteParts(filter).map(({ text, values }) =>
      questdb.queryArrays<[stepMs: number, isServed: boolean, rsrpBin: number | null, votes: string]>(
        `SELECT timestamp_floor('${sql}', ts) step, ${served} is_served, rsrp_bin, sum(votes) votes
         FROM ${text} GROUP BY step, is_served, rsrp_bin`,
        values,
      ),
    ),
  )
  return perPart
    .flat()
    .map(([stepMs, isServed, rsrpBin, votes]) => ({ stepMs, isServed, rsrpBin, votes: Number(votes) }))
}

export type StepMoments = Moments & { stepMs: number }

/** What the votes of each step count beyond their moments. */
export async function momentsByStep(
  questdb: QuestdbSql,
  filter: VoteFilter,
  { sql }: TrendStep,
): Promise<StepMoments[]> {
  const perPart = await Promise.all(
    momentParts(filter).map(({ text, values }) =>
      questdb.queryArrays<[stepMs: number, moreVotes: string, moreDark: string]>(
        `SELECT timestamp_floor('${sql}', ts) step, sum(more_votes), sum(more_dark) FROM ${text} GROUP BY step`,
        values,
      ),
    ),
  )
  return perPart
    .flat()
    .map(([stepMs, moreVotes, moreDark]) => ({ stepMs, moreVotes: Number(moreVotes), moreDark: Number(moreDark) }))
}

/** Counts votes by operator, service and RSRP. Votes without an operator are left out. */
export async function votesByOperator(questdb: QuestdbSql, filter: VoteFilter): Promise<PlmnVotes[]> {
  const perPart = await Promise.all(
    voteParts(filter).map(({ text, values }) =>
      questdb.queryArrays<[plmn: string, isServed: boolean, rsrpBin: number | null, votes: string]>(
        `SELECT plmn, ${served} is_served, rsrp_bin, sum(votes) votes
         FROM ${text} WHERE plmn IS NOT NULL GROUP BY plmn, is_served, rsrp_bin LIMIT ${maxOperatorRows}`,
        values,
      ),
    ),
  )
  return perPart.flat().map(([plmn, isServed, rsrpBin, votes]) => ({ plmn, isServed, rsrpBin, votes: Number(votes) }))
}
