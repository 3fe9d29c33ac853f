import { type AlertSystem, endAlerts, evaluationPiece, openAlerts } from '#alerts/evaluation/changes'
import { type Limit, readSustained, readWithin } from '#alerts/evaluation/read-telemetry'
import { tryInOrder } from '#alerts/evaluation/try-in-order'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import type { QuestdbSql } from '#questdb/sql'

/** Rules of an organization with the same limit, which share their queries. */
type RuleGroup = Limit & { organizationId: string; ruleIds: string[] }

type Evaluation = { system: AlertSystem; copies: readonly QuestdbSql[]; group: RuleGroup }

/**
 * Evaluates the rules about signal and temperature, organization by organization, from the copies of QuestDB in this order:
 * the next one is read if one fails. A device without recent samples keeps its state. Returns the number of changes.
 */
export async function evaluateTelemetry(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<{ id: string }>(
    `SELECT DISTINCT r.organization_id AS id FROM alert_rule r JOIN organization o ON o.id = r.organization_id
     WHERE r.enabled AND r.kind IN ('weak_signal', 'high_temperature')
       AND o.subscription_status NOT IN ('suspended', 'cancelled')`,
  )
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: async (organizationId) => {
      const groups = await readRuleGroups(system, organizationId)
      return groups.flatMap((group) => {
        const evaluation = { system, copies, group }
        return [afterRead(() => endWithin(evaluation)), afterRead(() => openSustained(evaluation))]
      })
    },
  })
}

async function readRuleGroups({ pool }: AlertSystem, organizationId: string): Promise<RuleGroup[]> {
  const { rows } = await pool.query<{
    kind: Limit['kind']
    threshold: number
    for_minutes: number
    rule_ids: string[]
  }>(
    `SELECT kind, threshold, for_minutes, array_agg(id) AS rule_ids FROM alert_rule
     WHERE organization_id = $1 AND enabled AND kind IN ('weak_signal', 'high_temperature')
     GROUP BY kind, threshold, for_minutes ORDER BY kind, threshold, for_minutes`,
    [organizationId],
  )
  return rows.map((row) => ({
    kind: row.kind,
    threshold: row.threshold,
    forMinutes: row.for_minutes,
    organizationId,
    ruleIds: row.rule_ids,
  }))
}

const nothing: Piece = () => Promise.resolve({ changes: 0, hasMore: false })

/** A piece that reads first, and then changes alerts until all that it read is stored. */
function afterRead(read: () => Promise<Piece>): Piece {
  let store: Piece | undefined
  return async () => {
    store ??= await read()
    return store()
  }
}

const measuredName = { weak_signal: 'rsrpDbm', high_temperature: 'temperatureC' } as const

/** Reads where the limit was exceeded. Returns the piece that opens the alerts. */
async function openSustained({ system, copies, group }: Evaluation): Promise<Piece> {
  const { organizationId, kind, threshold, forMinutes } = group
  const found = await tryInOrder(copies, (questdb) => readSustained(questdb, group, organizationId, system.clock()))
  if (found.length === 0) return nothing
  const condition = {
    kinds: [kind],
    join: `JOIN unnest($4::uuid[], $5::timestamptz[], $6::float8[]) AS seen (device_id, since, value)
      ON seen.device_id = d.id`,
    // A rule may have changed since the turn began.
    holds: 'r.threshold = $7 AND r.for_minutes = $8',
    since: 'seen.since',
    measured: `jsonb_build_object('${measuredName[kind]}', seen.value)`,
    values: [
      found.map(({ deviceId }) => deviceId),
      found.map(({ sinceMs }) => new Date(sinceMs)),
      found.map(({ value }) => value),
      threshold,
      forMinutes,
    ],
  }
  return evaluationPiece(system, 'telemetry', organizationId, [
    (connection) => openAlerts(connection, system, group, condition),
  ])
}

/** Reads which alerted devices are within the limit again. Returns the piece that ends their alerts. */
async function endWithin({ system, copies, group }: Evaluation): Promise<Piece> {
  const { organizationId, ruleIds, kind, threshold, forMinutes } = group
  const { rows } = await system.pool.query<{ device_id: string }>(
    `SELECT DISTINCT device_id FROM alert
     WHERE organization_id = $1 AND rule_id = ANY ($2::uuid[]) AND ended_at IS NULL`,
    [organizationId, ruleIds],
  )
  if (rows.length === 0) return nothing
  const alerted = new Set(rows.map((row) => row.device_id))
  const within = await tryInOrder(copies, (questdb) =>
    readWithin(questdb, group, organizationId, alerted, system.clock()),
  )
  if (within.length === 0) return nothing
  const end = {
    kinds: [kind],
    join: 'JOIN unnest($4::uuid[]) AS seen (device_id) ON seen.device_id = a.device_id',
    ended: 'r.threshold = $5 AND r.for_minutes = $6',
    values: [within, threshold, forMinutes],
  }
  return evaluationPiece(system, 'telemetry', organizationId, [
    (connection) => endAlerts(connection, system, group, end),
  ])
}
