import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { tryInOrder } from '#core/try-in-order'
import type { SystemContext } from '#fleet/context'
import { intervalsSql, latecomers } from '#fleet/devices/ownership'
import { type Plan, type Plans, planNamed } from '#fleet/organizations/plans'
import { systemTransaction } from '#fleet/tenant'
import { type AdvisedSim, adviseSims } from '#fleet-map/sim-advice/advise'
import { replaceAdvice } from '#fleet-map/sim-advice/stored'
import { epochMs, queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'
import { hasSchema } from '#questdb/schema/schema'
import type { QuestdbRows } from '#questdb/server/sql'
import { type RadioHealth, radioStatuses } from '#telemetry/radio-health/radio-health'
import { claimRun, type DueOrganization, dueOrganizations, whileClaimed } from './claim.ts'
import { type ComparedDevice, compareRadios } from './compare.ts'

export type RadioHealthSystem = SystemContext & { plans: Plans }

const hourMs = 3_600_000
const hoursPerDay = 24
const maxDays = 30
/** Rows of one statement: their text is written at once. */
const rowsAtOnce = 1_000
/** No organization's turn starts after this time in one round. */
const roundMs = 60_000

const canCompare = ({ coverage, fleetGps }: Plan): boolean => coverage && fleetGps

/** Whether an organization waits for its comparison, and a copy has the tables of this version. */
export async function isComparisonDue(system: RadioHealthSystem, copies: readonly QuestdbRows[]): Promise<boolean> {
  return (await plannedOrganizations(system)).size > 0 && (await currentCopies(copies)).length > 0
}

/**
 * Compares the radios and the operators of the organizations that requested it, and of all others once a night, in turns of
 * organizations. Only those whose plan has coverage. Several workers may run it: each claims an organization. Does nothing until a
 * copy has the tables of this version. Computes for seconds at a time for a large organization. Returns the number of compared radios.
 */
export async function compareDueRadios(
  system: RadioHealthSystem,
  copies: readonly QuestdbRows[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const planned = await plannedOrganizations(system)
  const current = planned.size === 0 ? [] : await currentCopies(copies)
  return rounds.run({
    owners: current.length === 0 ? [] : [...planned.keys()],
    startsOver: true,
    roundMs,
    workOf: (owner) => {
      const organization = planned.get(owner)
      return organization ? [() => compareOrganization(system, current, organization)] : []
    },
  })
}

type PlannedOrganization = DueOrganization & { historyDays: number }

/** The organizations whose comparison is due and part of their plan, by id. */
async function plannedOrganizations({ pool, plans }: RadioHealthSystem): Promise<Map<string, PlannedOrganization>> {
  const plansWithout = Object.keys(plans).filter((name) => !canCompare(planNamed(plans, name)))
  const due = await dueOrganizations(pool, plansWithout)
  return new Map(
    due.flatMap((organization) => {
      // A plan that the file no longer contains is the free one.
      const plan = planNamed(plans, organization.plan)
      return canCompare(plan) ? [[organization.id, { ...organization, historyDays: plan.historyDays }] as const] : []
    }),
  )
}

/** Without the copies whose tables ingest or a writer has still to upgrade. One that fails stays: the comparison says why. */
async function currentCopies(copies: readonly QuestdbRows[]): Promise<QuestdbRows[]> {
  const isCurrent = await Promise.all(copies.map((copy) => hasSchema(copy).catch(() => true)))
  return copies.filter((_, index) => isCurrent[index])
}

async function compareOrganization(
  system: RadioHealthSystem,
  copies: readonly QuestdbRows[],
  { id, historyDays }: PlannedOrganization,
) {
  const claimed = await claimRun(system.pool, id)
  if (claimed === undefined) return { changes: 0, hasMore: false }
  // If this fails, the claim stays until it lapses, so that an organization that always fails is tried every ten minutes only.
  const devices = await devicesOf(system, id)
  const nowMs = system.clock()
  const toMs = Math.ceil(nowMs / hourMs) * hourMs
  const days = Math.max(1, Math.min(maxDays, historyDays))
  const votes = { organizationId: id, fromMs: toMs - days * hoursPerDay * hourMs, toMs }
  const deviceIds = new Set(devices.map((device) => device.id))
  const late = await latecomers(system.pool, [id], votes.fromMs)
  const { claim, result } = await whileClaimed(system.pool, { organizationId: id, claim: claimed }, async () => ({
    healths: await tryInOrder(copies, (questdb) => compareRadios(questdb, devices, votes)),
    advice: await tryInOrder(copies, (questdb) => adviseSims(questdb, deviceIds, votes, late)),
  }))
  await systemTransaction(system, (connection) => store(connection, { ...votes, toMs: nowMs }, claim, result))
  return { changes: result.healths.length, hasMore: false }
}

const devicesOf = (system: SystemContext, organizationId: string): Promise<ComparedDevice[]> =>
  queryEntities<ComparedDevice>(
    system.pool,
    `SELECT d.id, d.model, ${epochMs('owned.owned_from')} AS "ownedFromMs"
     FROM device d JOIN (
       ${intervalsSql('device_id IN (SELECT id FROM device WHERE organization_id = $organizationId)')}
     ) owned ON owned.device_id = d.id AND owned.organization_id = d.organization_id AND owned.owned_to IS NULL
     WHERE d.organization_id = $organizationId`,
    { organizationId },
  )

type Window = { organizationId: string; fromMs: number; toMs: number }

/** Replaces the results of the organization, unless another worker has taken over. */
async function store(
  connection: Connection,
  { organizationId, fromMs, toMs }: Window,
  claim: string,
  { healths, advice }: { healths: readonly RadioHealth[]; advice: readonly AdvisedSim[] },
): Promise<void> {
  const { rowCount } = await connection.query(
    `UPDATE radio_health_run SET claimed_at = NULL, requested_at = NULL, finished_at = now(), window_from = $3, window_to = $4
     WHERE organization_id = $1 AND claimed_at = $2::timestamptz`,
    [organizationId, claim, new Date(fromMs), new Date(toMs)],
  )
  if (!rowCount) return
  await connection.query('DELETE FROM device_radio_health WHERE organization_id = $1', [organizationId])
  for (let start = 0; start < healths.length; start += rowsAtOnce)
    await insertHealths(connection, organizationId, healths.slice(start, start + rowsAtOnce))
  await replaceAdvice(connection, organizationId, advice)
}

/** Locks the devices, so that a transfer at the same time finds the new rows and deletes them. */
async function insertHealths(connection: Connection, organizationId: string, healths: readonly RadioHealth[]) {
  const rows = healths.map(({ status, sinceAtMs, ...health }) => ({
    ...{ ...health, status, severity: radioStatuses.indexOf(status) },
    sinceAt: sinceAtMs === null ? null : new Date(sinceAtMs).toISOString(),
  }))
  await connection.query(
    `INSERT INTO device_radio_health (organization_id, device_id, modem, status, severity, offset_order, offset_db,
       offset_low_db, offset_high_db, shared_cells, compared_devices, model, model_offset_db, since_at)
     SELECT d.organization_id, d.id, row.modem, row.status, row.severity, coalesce(row."offsetDb", 0), row."offsetDb",
       row."offsetLowDb", row."offsetHighDb", row."sharedCells", row."comparedDevices", row.model, row."modelOffsetDb",
       row."sinceAt"
     FROM jsonb_to_recordset($2::jsonb) AS row ("deviceId" uuid, modem text, status text, severity smallint,
       "offsetDb" float8, "offsetLowDb" float8, "offsetHighDb" float8, "sharedCells" int, "comparedDevices" int,
       model text, "modelOffsetDb" float8, "sinceAt" timestamptz)
     JOIN device d ON d.id = row."deviceId" AND d.organization_id = $1
     FOR KEY SHARE OF d`,
    [organizationId, JSON.stringify(rows)],
  )
}
