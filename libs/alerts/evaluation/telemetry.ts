import { type AlertSystem, endAlerts, evaluateSlice, openAlerts, type RuleSlice } from '#alerts/evaluation/changes'
import { type Limit, readSustained, readWithin } from '#alerts/evaluation/read-telemetry'
import { isSmall, shared, sharedPiece } from '#alerts/evaluation/shares'
import { tryInOrder } from '#alerts/evaluation/try-in-order'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import type { QuestdbSql } from '#questdb/server/sql'

/** The rules of an organization with the same limit. */
type LimitRules = {
  organization_id: string
  kind: Limit['kind']
  threshold: number
  for_minutes: number
  rule_ids: string[]
  devices: number | null
}

/** Rules with the same limit, which share their queries, and their organizations. */
type Evaluation = { system: AlertSystem; copies: readonly QuestdbSql[]; limit: Limit; slice: RuleSlice }

/**
 * Evaluates the rules about signal and temperature, in turns of organizations, from the copies of QuestDB in this order: the
 * next one is read if one fails. Small organizations with the same limit share a turn. A device without recent samples keeps
 * its state. Returns the number of changes.
 */
export async function evaluateTelemetry(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<LimitRules>(limitRulesSql)
  const piecesOf = (limit: LimitRules, all: readonly LimitRules[] = [limit]): Piece[] => {
    const evaluation: Evaluation = {
      system,
      copies,
      limit: { kind: limit.kind, threshold: limit.threshold, forMinutes: limit.for_minutes },
      slice: { organizationIds: all.map(organizationOf), ruleIds: all.flatMap(({ rule_ids }) => rule_ids) },
    }
    return [afterRead(() => endWithin(evaluation)), afterRead(() => openSustained(evaluation))]
  }
  const organizations = [...Map.groupBy(rows, organizationOf)]
  const isSharing = (limits: readonly LimitRules[]) =>
    limits.length <= maxSharedLimits && isSmall(limits.length, limits[0]?.devices ?? 0)
  const work = new Map<string, Piece[]>()
  for (const [organizationId, limits] of organizations) {
    if (!isSharing(limits))
      work.set(
        organizationId,
        limits.flatMap((limit) => piecesOf(limit)),
      )
  }
  const sharing = organizations.flatMap(([, limits]) => (isSharing(limits) ? limits : []))
  for (const [name, ofLimit] of Map.groupBy(sharing, nameOf)) {
    for (const [index, group] of shared(ofLimit, ({ devices }) => devices ?? 0).entries()) {
      const [limit] = group
      if (!limit) continue
      work.set(`${name}, small organizations ${index + 1}`, [
        sharedPiece(group, organizationOf, (some) => runAll(piecesOf(limit, some)), rounds),
      ])
    }
  }
  return rounds.run({ owners: [...work.keys()], workOf: (owner) => work.get(owner) ?? [] })
}

// An organization with more limits would otherwise have more turns than others.
const maxSharedLimits = 4

const organizationOf = ({ organization_id }: LimitRules): string => organization_id

const nameOf = ({ kind, threshold, for_minutes }: LimitRules): string => `${kind} ${threshold} for ${for_minutes} min`

const limitRulesSql = `
  SELECT r.organization_id, r.kind, r.threshold, r.for_minutes, array_agg(r.id) AS rule_ids, max(used.device_count) AS devices
  FROM alert_rule r JOIN organization o ON o.id = r.organization_id
    LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
  WHERE r.enabled AND r.kind IN ('weak_signal', 'high_temperature')
    AND o.subscription_status NOT IN ('suspended', 'cancelled')
  GROUP BY r.organization_id, r.kind, r.threshold, r.for_minutes
  ORDER BY r.organization_id, r.kind, r.threshold, r.for_minutes`

/** Runs the pieces of one turn to their end. */
async function runAll(pieces: readonly Piece[]): ReturnType<Piece> {
  let total = 0
  for (const piece of pieces) {
    for (let hasMore = true; hasMore; ) {
      const done = await piece()
      total += done.changes
      hasMore = done.hasMore
    }
  }
  return { changes: total, hasMore: false }
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
async function openSustained({ system, copies, limit, slice }: Evaluation): Promise<Piece> {
  const found = await tryInOrder(copies, (questdb) =>
    readSustained(questdb, limit, slice.organizationIds, system.clock()),
  )
  if (found.length === 0) return nothing
  const condition = {
    kinds: [limit.kind],
    join: `JOIN unnest($4::uuid[], $5::uuid[], $6::timestamptz[], $7::float8[])
      AS seen (organization_id, device_id, since, value)
      ON seen.organization_id = r.organization_id AND seen.device_id = d.id`,
    // A rule may have changed since the turn began.
    holds: 'r.threshold = $8 AND r.for_minutes = $9',
    since: 'seen.since',
    measured: `jsonb_build_object('${measuredName[limit.kind]}', seen.value)`,
    values: [
      found.map(({ organizationId }) => organizationId),
      found.map(({ deviceId }) => deviceId),
      found.map(({ sinceMs }) => new Date(sinceMs)),
      found.map(({ value }) => value),
      limit.threshold,
      limit.forMinutes,
    ],
  }
  return () =>
    evaluateSlice(system, 'telemetry', slice, [(connection, held) => openAlerts(connection, system, held, condition)])
}

/** Reads which alerted devices are within the limit again. Returns the piece that ends their alerts. */
async function endWithin({ system, copies, limit, slice }: Evaluation): Promise<Piece> {
  const { rows } = await system.pool.query<{ device_id: string }>(
    `SELECT DISTINCT device_id FROM alert
     WHERE organization_id = ANY ($1::uuid[]) AND rule_id = ANY ($2::uuid[]) AND ended_at IS NULL`,
    [slice.organizationIds, slice.ruleIds],
  )
  if (rows.length === 0) return nothing
  const alerted = new Set(rows.map((row) => row.device_id))
  const within = await tryInOrder(copies, (questdb) =>
    readWithin(questdb, limit, slice.organizationIds, alerted, system.clock()),
  )
  if (within.length === 0) return nothing
  const end = {
    kinds: [limit.kind],
    join: `JOIN unnest($4::uuid[], $5::uuid[]) AS seen (organization_id, device_id)
      ON seen.organization_id = a.organization_id AND seen.device_id = a.device_id`,
    ended: 'r.threshold = $6 AND r.for_minutes = $7',
    values: [
      within.map(({ organizationId }) => organizationId),
      within.map(({ deviceId }) => deviceId),
      limit.threshold,
      limit.forMinutes,
    ],
  }
  return () =>
    evaluateSlice(system, 'telemetry', slice, [(connection, held) => endAlerts(connection, system, held, end)])
}
