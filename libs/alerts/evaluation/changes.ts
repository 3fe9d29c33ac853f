import { unendedSql, watchedSql } from '#alerts/evaluation/scope'
import { type AlertRow, alertColumns } from '#alerts/inbox/alert'
import { type EndedRow, endAlertsSql, publishEnded } from '#alerts/inbox/close-unended'
import { publishAlerts } from '#alerts/inbox/publish'
import { queueMails } from '#alerts/mail/queue'
import type { AlertKind } from '#alerts/rules/condition'
import type { Clock } from '#core/clock'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Pool } from '#postgres/pool'

export type AlertSystem = { pool: Pool; plans: Plans; clock: Clock }

/**
 * A kind of condition as SQL over rule `r` and device `d`, and what `join` adds. $1: the plans that include smart tags;
 * `values` begin at $2.
 */
export type SqlCondition = {
  kinds: readonly AlertKind[]
  join?: string
  holds: string
  /** A `timestamptz`: since when it holds. */
  since: string
  /** A `jsonb` object with units in its names. */
  measured: string
  values?: unknown[]
}

/** When alerts of these kinds end, as SQL over alert `a`, rule `r`, device `d` and what `join` adds. */
export type SqlEnd = { kinds: readonly AlertKind[]; join?: string; ended: string; values?: unknown[] }

/** Most alerts that one transaction opens or ends. */
const batchSize = 10_000
const maxBatches = 20

/**
 * Opens an alert for each rule and device on which the condition holds, with its events and e-mail, in the caller's transaction. Does
 * nothing where an alert has not ended. Opens at most 10,000. Returns how many.
 */
export async function openAlerts(
  connection: Connection,
  { plans }: AlertSystem,
  { kinds, join, holds, since, measured, values = [] }: SqlCondition,
): Promise<number> {
  const { rows } = await connection.query<AlertRow>(
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
     RETURNING ${alertColumns}`,
    [smartTagPlans(plans), ...values],
  )
  await publishAlerts(connection, 'alert.opened', rows)
  await queueMails(connection, rows)
  return rows.length
}

/**
 * Ends the alerts whose condition has ended, at most 10,000, in the caller's transaction. Returns how many. The statement
 * mentions $1 because Postgres needs the type of each parameter.
 */
export const endAlerts = (
  connection: Connection,
  system: AlertSystem,
  { kinds, join, ended, values = [] }: SqlEnd,
): Promise<number> =>
  endChosen(
    connection,
    system,
    `SELECT a.id, 'condition_ended' AS reason ${unendedSql(kinds, join)} AND (${ended}) AND $1::text[] IS NOT NULL`,
    values,
  )

/** Ends the alerts that a query chooses, at most 10,000, in the caller's transaction. Returns how many. */
export async function endChosen(
  connection: Connection,
  { plans }: AlertSystem,
  chosen: string,
  values: unknown[] = [],
): Promise<number> {
  const { rows } = await connection.query<EndedRow>(endAlertsSql(`${chosen} LIMIT ${batchSize}`), [
    smartTagPlans(plans),
    ...values,
  ])
  await publishEnded(connection, rows)
  return rows.length
}

// Arbitrary constants: one worker at a time evaluates each of the two sources.
const locks = { stored: 7_264_115_040, telemetry: 7_264_115_041 }

/**
 * Runs a step of a round in transactions until one changes less than `size`, the most that one can change. Returns the number
 * of changes; 0 when another worker runs a round.
 */
export async function runStep(
  system: AlertSystem,
  lock: keyof typeof locks,
  step: (connection: Connection) => Promise<number>,
  size = batchSize,
): Promise<number> {
  let total = 0
  for (let batch = 0; batch < maxBatches; batch++) {
    const changed = await systemTransaction(system, async (connection) => {
      const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
        locks[lock],
      ])
      return rows[0]?.held ? step(connection) : 0
    })
    total += changed
    if (changed < size) break
  }
  return total
}

/** The names of the plans that include smart tags. */
export const smartTagPlans = (plans: Plans): string[] =>
  Object.keys(plans).filter((name) => planNamed(plans, name).smartTagGroups)
