import { type AlertSystem, endAlerts, evaluateSlice, openAlerts, type RuleSlice } from '#alerts/evaluation/changes'
import { readDownModems, readUpDevices } from '#alerts/evaluation/read-modems'
import { type Limit, readSustained, readWithin } from '#alerts/evaluation/read-telemetry'
import { evaluateInTurns, isSmall } from '#alerts/evaluation/shares'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import { tryInOrder } from '#core/try-in-order'
import { latecomers } from '#fleet/devices/ownership'
import type { RowOwners } from '#questdb/server/owned-only'
import type { QuestdbSql } from '#questdb/server/sql'

/** A limit, or that a modem is down for a time. */
type Judged = Limit | { kind: 'modem_down'; threshold: null; forMinutes: number }

/** The rules of an organization with the same limit. */
type LimitRules = Judged & { organizationId: string; ruleIds: string[]; devices: number }

/** Rules with the same limit, which share their queries, and their organizations. */
type Evaluation = { system: AlertSystem; copies: readonly QuestdbSql[]; limit: Judged; slice: RuleSlice }

/**
 * Evaluates the rules about signal, temperature, voltage and modems, in turns of organizations, from the copies of QuestDB in this order: the
 * next one is read if one fails. Small organizations with the same limit share a turn. A device without recent samples keeps
 * its state. Returns the number of changes.
 */
export async function evaluateTelemetry(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<LimitRules>(limitRulesSql)
  const piecesOf = (limit: Judged, all: readonly LimitRules[]): Piece[] => {
    const organizationIds = all.map(({ organizationId }) => organizationId)
    const slice = { organizationIds, ruleIds: all.flatMap(({ ruleIds }) => ruleIds) }
    const evaluation: Evaluation = { system, copies, limit, slice }
    return [afterRead(() => endWithin(evaluation)), afterRead(() => openSustained(evaluation))]
  }
  return evaluateInTurns(rounds, {
    units: rows,
    isSharing: (own) => own.length <= maxSharedLimits && isSmall(own.length, own[0]?.devices ?? 0),
    alone: (own) => own.flatMap((limit) => piecesOf(limit, [limit])),
    together: [(some) => runAll(some[0] ? piecesOf(some[0], some) : [])],
    nameOf: ({ kind, threshold, forMinutes }) => `${kind} ${threshold} for ${forMinutes} min, small organizations`,
    rulesOf: () => 1,
  })
}

// An organization with more limits would otherwise have more turns than others.
const maxSharedLimits = 4

const limitRulesSql = `
  SELECT r.organization_id AS "organizationId", r.kind, r.threshold, r.for_minutes AS "forMinutes",
    array_agg(r.id) AS "ruleIds", coalesce(max(used.device_count), 0) AS devices
  FROM alert_rule r JOIN organization o ON o.id = r.organization_id
    LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
  WHERE r.enabled AND r.kind IN ('weak_signal', 'high_temperature', 'low_voltage', 'modem_down')
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

const sameRule = 'r.threshold IS NOT DISTINCT FROM $threshold::float8 AND r.for_minutes = $forMinutes'

const measuredName = {
  weak_signal: 'rsrpDbm',
  high_temperature: 'temperatureC',
  low_voltage: 'voltageV',
  modem_down: 'modem',
} as const

type Seen = { organizationId: string; deviceId: string; sinceMs: number; value: number | string | null }

/** Longer ago than any sample that is read. */
const oldestMs = 2 * 86_400_000

const ownersOf = async ({ pool, clock }: AlertSystem, { organizationIds }: RuleSlice): Promise<RowOwners> => ({
  organizationIds,
  late: await latecomers(pool, organizationIds, clock() - oldestMs),
})

/** Reads where the limit was exceeded. Returns the piece that opens the alerts. */
async function openSustained({ system, copies, limit, slice }: Evaluation): Promise<Piece> {
  const owners = await ownersOf(system, slice)
  const found = await tryInOrder(
    copies,
    (questdb): Promise<Seen[]> =>
      limit.kind === 'modem_down'
        ? readDownModems(questdb, limit.forMinutes, owners, system.clock())
        : readSustained(questdb, limit, owners, system.clock()),
  )
  if (found.length === 0) return nothing
  const condition = {
    kinds: [limit.kind],
    join: `JOIN unnest($seenIn::uuid[], $seen::uuid[], $seenSince::timestamptz[], $seenValues::${limit.kind === 'modem_down' ? 'text' : 'float8'}[])
      AS seen (organization_id, device_id, since, value)
      ON seen.organization_id = r.organization_id AND seen.device_id = d.id`,
    // A rule may have changed since the turn began.
    holds: sameRule,
    since: 'seen.since',
    measured: `jsonb_build_object('${measuredName[limit.kind]}', seen.value)`,
    values: {
      seenIn: found.map(({ organizationId }) => organizationId),
      seen: found.map(({ deviceId }) => deviceId),
      seenSince: found.map(({ sinceMs }) => new Date(sinceMs)),
      seenValues: found.map(({ value }) => value),
      threshold: limit.threshold,
      forMinutes: limit.forMinutes,
    },
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
  const owners = await ownersOf(system, slice)
  const within = await tryInOrder(copies, (questdb) =>
    limit.kind === 'modem_down'
      ? readUpDevices(questdb, limit.forMinutes, owners, alerted, system.clock())
      : readWithin(questdb, limit, owners, alerted, system.clock()),
  )
  if (within.length === 0) return nothing
  const end = {
    kinds: [limit.kind],
    join: `JOIN unnest($seenIn::uuid[], $seen::uuid[]) AS seen (organization_id, device_id)
      ON seen.organization_id = a.organization_id AND seen.device_id = a.device_id`,
    ended: sameRule,
    values: {
      seenIn: within.map(({ organizationId }) => organizationId),
      seen: within.map(({ deviceId }) => deviceId),
      threshold: limit.threshold,
      forMinutes: limit.forMinutes,
    },
  }
  return () => evaluateSlice(system, 'telemetry', slice, [(connection, held) => endAlerts(connection, held, end)])
}
