import { queueChatMessages } from '#alerts/chat/queue'
import { nameTowns } from '#alerts/evaluation/name-towns'
import { outOfScopeSql, unendedSql, watchedSql } from '#alerts/evaluation/scope'
import { type WrittenAlert, writtenColumns } from '#alerts/inbox/alert'
import { endChosen } from '#alerts/inbox/close-unended'
import { publishAlerts } from '#alerts/inbox/publish'
import { queueMails } from '#alerts/mail/queue'
import type { AlertKind } from '#alerts/rules/condition'
import type { Clock } from '#core/clock'
import type { Piece } from '#core/fair-rounds'
import type { Towns } from '#core/near'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import { systemTransaction } from '#fleet/tenant'
import { queryEntities } from '#postgres/entities'
import type { Connection, Pool } from '#postgres/pool'

/** `towns`: where devices are when alerts open; without them, alerts name no town. */
export type AlertSystem = { pool: Pool; plans: Plans; clock: Clock; towns?: Towns | undefined }

/** The rules that a piece of a round evaluates, and their organizations. */
export type RuleSlice = { organizationIds: readonly string[]; ruleIds: readonly string[] }

/**
 * A kind of condition as SQL over rule `r` and device `d`, and what `join` adds. `values`: its parameters, by name.
 */
export type SqlCondition = {
  kinds: readonly AlertKind[]
  join?: string
  holds: string
  /** A `timestamptz`: since when it holds. */
  since: string
  /** A `jsonb` object with units in its names. */
  measured: string
  values?: Record<string, unknown>
}

/** When alerts of these kinds end, as SQL over alert `a`, rule `r`, device `d` and what `join` adds. */
export type SqlEnd = { kinds: readonly AlertKind[]; join?: string; ended: string; values?: Record<string, unknown> }

/** Most alerts that one statement opens or ends. */
export const batchSize = 10_000

/**
 * Opens an alert for each rule and device on which the condition holds, with its events and e-mail, in the caller's transaction. Does
 * nothing where an alert has not ended. Opens at most 10,000. Returns how many.
 */
export async function openAlerts(
  connection: Connection,
  { plans, towns }: AlertSystem,
  slice: RuleSlice,
  { kinds, join, holds, since, measured, values = {} }: SqlCondition,
): Promise<number> {
  const opened = await queryEntities<WrittenAlert>(
    connection,
    `WITH found AS MATERIALIZED (
       SELECT r.id AS rule_id, r.organization_id, r.name, r.kind, r.severity, r.notify_webhooks, d.id AS device_id,
         ${since} AS since, ${measured} AS measured
       ${watchedSql(kinds, join)} AND (${holds})
         AND NOT EXISTS (SELECT FROM alert open WHERE open.rule_id = r.id AND open.device_id = d.id AND open.ended_at IS NULL)
       ORDER BY r.id, d.id LIMIT ${batchSize}
     )
     INSERT INTO alert AS a (id, organization_id, rule_id, rule_name, kind, severity, notify_webhooks, device_id, since,
       measured, opened_at)
     SELECT id, organization_id, rule_id, name, kind, severity, notify_webhooks, device_id, since, measured,
       uuid_extract_timestamp(id)
     FROM (SELECT uuidv7() AS id, * FROM found) numbered
     ON CONFLICT (rule_id, device_id) WHERE ended_at IS NULL DO NOTHING
     RETURNING ${writtenColumns}`,
    { ...sliceValues(plans, slice), ...values },
  )
  await announceOpened(connection, await nameTowns(connection, towns, opened))
  return opened.length
}

/** Queues the events and messages about alerts that opened, in the caller's transaction. */
export async function announceOpened(connection: Connection, opened: readonly WrittenAlert[]): Promise<void> {
  await publishAlerts(connection, 'alert.opened', opened)
  await queueMails(connection, opened)
  await queueChatMessages(connection, opened)
}

/** Ends the alerts whose condition has ended, at most 10,000, in the caller's transaction. Returns how many. */
export const endAlerts = (
  connection: Connection,
  { organizationIds, ruleIds }: RuleSlice,
  { kinds, join, ended, values = {} }: SqlEnd,
): Promise<number> =>
  endChosen(
    connection,
    `SELECT a.id, 'condition_ended' AS reason ${unendedSql(kinds, join)} AND (${ended}) LIMIT ${batchSize}`,
    { organizationIds, ruleIds, ...values },
  )

/** Ends the alerts whose rule does not watch their device any more, at most 10,000, in the caller's transaction. Returns how many. */
export const endOutOfScope = (connection: Connection, { plans }: AlertSystem, slice: RuleSlice): Promise<number> =>
  endChosen(connection, `${outOfScopeSql} LIMIT ${batchSize}`, sliceValues(plans, slice))

/** The parameters of a statement about a slice: the plans that include smart tags, the organizations and their rules. */
export const sliceValues = (plans: Plans, { organizationIds, ruleIds }: RuleSlice) => ({
  smartTagPlans: Object.keys(plans).filter((name) => planNamed(plans, name).smartTagGroups),
  organizationIds,
  ruleIds,
})

// Arbitrary constants, one for each source. Workers of the version before lock it alone, for all organizations.
const locks = { stored: 7_264_115_040, telemetry: 7_264_115_041 }

/** A step of an evaluation. Returns how many alerts it changed. */
export type EvaluationStep = (connection: Connection, slice: RuleSlice) => Promise<number>

/**
 * Runs steps over the rules of a slice in one transaction; `hasMore` if one of them changed as many alerts as it may. Leaves out
 * organizations that another worker evaluates. A statement may run for 15 s, because others wait, or for 5 s if it is for several
 * organizations, so that one of them that takes longer is soon found.
 */
export const evaluateSlice = (
  system: AlertSystem,
  source: keyof typeof locks,
  slice: RuleSlice,
  steps: readonly EvaluationStep[],
): ReturnType<Piece> =>
  systemTransaction(
    system,
    async (connection) => {
      const { rows } = await connection.query<{ id: string }>(
        `SELECT id FROM unnest($2::uuid[]) AS organization (id)
         WHERE pg_try_advisory_xact_lock_shared($1) AND pg_try_advisory_xact_lock(hashtextextended(id::text, $1))`,
        [locks[source], slice.organizationIds],
      )
      const organizationIds = rows.map(({ id }) => id)
      let changes = 0
      let hasMore = false
      for (const step of organizationIds.length > 0 ? steps : []) {
        const changed = await step(connection, { ...slice, organizationIds })
        changes += changed
        hasMore ||= changed >= batchSize
      }
      return { changes, hasMore }
    },
    { prelude: `SET LOCAL statement_timeout = '${slice.organizationIds.length > 1 ? 5 : 15}s'` },
  )
