import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import type { SystemContext } from '#fleet/context'
import type { StatusChange } from '#fleet/devices/status'
import { publishStatusChanges } from '#fleet/devices/status-changes'
import { bisectOwners } from '#postgres/bisect'
import { transaction } from '#postgres/pool'

/** When a device counts as offline if it does not report again. */
export const offlineAt = (seenAt: string, intervalS: string) =>
  `${seenAt} + GREATEST(interval '5 minutes', make_interval(secs => 3 * COALESCE(${intervalS}, 0)))`

/**
 * Marks online devices as offline that have not reported for three of their reporting intervals and for at least 5 minutes.
 * Organizations take turns. Skips locked rows. Returns the changes.
 *
 * Checks a device when it would be offline had it not reported since its last check, and not after each report. The times of the
 * checks have a table of their own, so that a check does not change the device.
 */
export async function sweepOffline(
  { pool }: Pick<SystemContext, 'pool'>,
  {
    checkedTogether = 1_000,
    rounds = createFairRounds(),
  }: { checkedTogether?: number; rounds?: Pick<FairRounds, 'report'> } = {},
): Promise<StatusChange[]> {
  const changes: StatusChange[] = []
  const failed = new Map<string, unknown>()
  for (let read = 0; read < maxReads; read++) {
    const due = await readDueChecks(pool, chunksPerRead * checkedTogether, [...failed.keys()])
    for (let start = 0; start < due.length; start += checkedTogether) {
      await bisectOwners(
        due.slice(start, start + checkedTogether),
        ({ organizationId }) => organizationId ?? '',
        async (checks) => changes.push(...(await checkSome(pool, checks))),
        (organizationId, error) => failed.set(organizationId, error),
      )
    }
    if (due.length < chunksPerRead * checkedTogether) break
  }
  for (const [organizationId, error] of failed) rounds.report(error, organizationId)
  return changes
}

const chunksPerRead = 10
// Checks that other workers are making are read again.
const maxReads = 20

/** A check that is due. `organizationId` is null if the device was deleted. */
type DueCheck = { deviceId: string; organizationId: string | null }

/**
 * The next checks: the first one of each organization, then the second of each, and so on. Several organizations share a
 * transaction, because most have few checks at a time.
 */
async function readDueChecks(
  pool: SystemContext['pool'],
  limit: number,
  except: readonly string[],
): Promise<DueCheck[]> {
  const { rows } = await pool.query<DueCheck>(
    `SELECT device_id AS "deviceId", organization_id AS "organizationId" FROM (
       SELECT c.device_id, d.organization_id, row_number() OVER (PARTITION BY d.organization_id ORDER BY c.check_at) AS place
       FROM device_online_check c LEFT JOIN device d ON d.id = c.device_id
       WHERE c.check_at <= now() AND (d.organization_id IS NULL OR d.organization_id <> ALL ($2::uuid[]))
     ) due ORDER BY place LIMIT $1`,
    [limit, except],
  )
  return rows
}

// Nothing here waits for a row: a report locks its device before its check, and this statement its check before its device.
const checkSql = `
  WITH due AS (
    SELECT device_id FROM device_online_check WHERE device_id = ANY ($1::uuid[]) AND check_at <= now()
       FOR UPDATE SKIP LOCKED
  ), found AS (
    SELECT d.id, ${offlineAt('last_seen_at', 'reporting_interval_s')} AS offline_at
      FROM due JOIN device d ON d.id = due.device_id WHERE d.status = 'online'
  ), silent AS (
    SELECT d.id FROM device d
     WHERE d.id IN (SELECT id FROM found WHERE offline_at < now()) AND d.status = 'online'
       AND ${offlineAt('last_seen_at', 'reporting_interval_s')} < now()
       FOR UPDATE SKIP LOCKED
  ), ended AS (
    UPDATE device SET status = 'offline' WHERE id IN (SELECT id FROM silent) RETURNING id, organization_id
  ), later AS (
    UPDATE device_online_check c
       SET check_at = GREATEST(COALESCE(found.offline_at, now() + interval '5 minutes'), now() + interval '1 second')
      FROM found WHERE c.device_id = found.id AND found.id NOT IN (SELECT id FROM ended)
  ), removed AS (
    DELETE FROM device_online_check c USING due
     WHERE c.device_id = due.device_id
       AND (due.device_id NOT IN (SELECT id FROM found) OR due.device_id IN (SELECT id FROM ended))
  )
  SELECT id AS "deviceId", organization_id AS "organizationId", 'online' AS "from", 'offline' AS "to" FROM ended`

/** Makes these checks, unless another worker does. Returns the changes of the devices that are offline. */
function checkSome(pool: SystemContext['pool'], checks: readonly DueCheck[]): Promise<StatusChange[]> {
  return transaction(pool, async (connection) => {
    const deviceIds = checks.map(({ deviceId }) => deviceId)
    const { rows: changes } = await connection.query<StatusChange>(checkSql, [deviceIds])
    await publishStatusChanges(connection, changes, { actor: 'system', reason: 'silent' })
    return changes
  })
}
