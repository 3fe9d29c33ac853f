import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { storable } from '#core/text'
import { recordAudit } from '#fleet/audit/record'
import type { SystemContext } from '#fleet/context'
import { publishEvents } from '#fleet/events/publish'
import { bisectOwners } from '#postgres/bisect'
import { type Connection, transaction } from '#postgres/pool'

export const deviceStatuses = ['online', 'offline', 'provisioning', 'error', 'disabled'] as const
export type DeviceStatus = (typeof deviceStatuses)[number]

/** The state of a device according to its telemetry. `foldReport` merges several reports. */
export type DeviceReport = {
  deviceId: string
  organizationId: string
  /** When it was received. */
  seenAtMs: number
  firmware?: string | undefined
  /** The fault in the newest system sample, null for a sample without fault, undefined without a system sample. */
  fault?: string | null | undefined
  /** The newest valid fix, with its time. */
  location?: { lat: number; lon: number; tsMs: number } | undefined
}

type StatusChange = { deviceId: string; organizationId: string; from: DeviceStatus; to: DeviceStatus }

/** Why a status changed, and the actor. */
type Cause = { actor: string; reason: string; requestId?: string }

/**
 * Stores a batch of reports: last seen, firmware, position, estimated reporting interval and the resulting status. Uses one
 * statement for the whole batch. Disabled devices do not change, and a report that was stored before is not written again.
 * Each change of status is audited and published in the same transaction. Returns the changes.
 *
 * Characters that the database cannot store are replaced, so that a single device cannot block the batch.
 *
 * The reporting interval grows by at most half and shrinks by at most a fifth per report, so that one outage does not make a
 * frequently reporting router look like one that reports rarely.
 */
export function applyDeviceReports(
  { pool }: Pick<SystemContext, 'pool'>,
  reports: readonly DeviceReport[],
): Promise<StatusChange[]> {
  const newest = [...foldReports(reports).values()]
  if (newest.length === 0) return Promise.resolve([])
  return transaction(pool, async (connection) => {
    const { rows } = await connection.query<ChangedRow>(applyReportsSql, [
      newest.map((report) => report.deviceId),
      newest.map((report) => report.organizationId),
      newest.map((report) => new Date(report.seenAtMs)),
      newest.map(({ firmware }) => (firmware === undefined ? null : storable(firmware))),
      newest.map((report) => report.fault !== undefined),
      newest.map(({ fault }) => (typeof fault === 'string' ? storable(fault) : null)),
      newest.map((report) => report.location?.lat ?? null),
      newest.map((report) => report.location?.lon ?? null),
      newest.map((report) => (report.location ? new Date(report.location.tsMs) : null)),
    ])
    const changes = rows.map(toChange)
    await publishStatusChanges(connection, changes, { actor: 'system', reason: 'telemetry' })
    return changes
  })
}

type ChangedRow = { id: string; organization_id: string; status_before: DeviceStatus; status_after: DeviceStatus }

const toChange = (row: ChangedRow): StatusChange => ({
  deviceId: row.id,
  organizationId: row.organization_id,
  from: row.status_before,
  to: row.status_after,
})

/** Merges the reports of each device. The order of the reports does not matter. */
function foldReports(reports: readonly DeviceReport[]): Map<string, DeviceReport> {
  const byDevice = new Map<string, DeviceReport>()
  for (const report of reports) {
    const known = byDevice.get(report.deviceId)
    byDevice.set(report.deviceId, known ? foldReport(known, report) : report)
  }
  return byDevice
}

/** Merges two reports of one device; the newest value of each field remains. */
export function foldReport(a: DeviceReport, b: DeviceReport): DeviceReport {
  const [older, newer] = a.seenAtMs <= b.seenAtMs ? [a, b] : [b, a]
  const fixes = [older.location, newer.location].filter((fix) => fix !== undefined)
  return {
    ...newer,
    firmware: newer.firmware ?? older.firmware,
    fault: newer.fault === undefined ? older.fault : newer.fault,
    location: fixes.sort((one, other) => other.tsMs - one.tsMs)[0],
  }
}

/** When a device counts as offline if it does not report again. */
const offlineAt = (seenAt: string, intervalS: string) =>
  `${seenAt} + GREATEST(interval '5 minutes', make_interval(secs => 3 * COALESCE(${intervalS}, 0)))`

// A fault ends with a system sample without fault. The error of a failed config job ends with any report without fault.
// Indexed columns rarely change here, so that Postgres updates a row without its indexes, which would take most of the time.
const applyReportsSql = `
  WITH report AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::boolean[], $6::text[],
                         $7::float8[], $8::float8[], $9::timestamptz[])
      AS r(device_id, organization_id, seen_at, firmware, has_health, fault, lat, lon, fix_at)
  ), target AS (
    SELECT d.id, d.status AS status_before, after.interval_s < d.reporting_interval_s AS is_shorter, r.*, after.*
      FROM device d JOIN report r ON r.device_id = d.id AND r.organization_id = d.organization_id
     CROSS JOIN LATERAL (
       SELECT r.fix_at IS NOT NULL AND (d.last_fix_at IS NULL OR r.fix_at > d.last_fix_at) AS moves,
              CASE WHEN r.fault IS NOT NULL THEN 'error'
                   WHEN d.status = 'error' AND d.fault IS NOT NULL AND NOT r.has_health THEN 'error'
                   ELSE 'online' END AS status_after,
              CASE WHEN d.last_seen_at IS NULL OR r.seen_at <= d.last_seen_at THEN d.reporting_interval_s
                   WHEN d.reporting_interval_s IS NULL
                     THEN EXTRACT(epoch FROM LEAST(r.seen_at - d.last_seen_at, interval '1 hour'))
                   ELSE LEAST(GREATEST(EXTRACT(epoch FROM r.seen_at - d.last_seen_at), d.reporting_interval_s * 0.8),
                              d.reporting_interval_s * 1.5, 86400) END AS interval_s
     ) AS after
     WHERE d.status <> 'disabled'
       AND (d.last_seen_at IS NULL OR r.seen_at > d.last_seen_at OR moves OR status_after <> d.status
            OR r.firmware <> COALESCE(d.firmware, '') OR (r.has_health AND r.fault IS DISTINCT FROM d.fault))
     ORDER BY d.id FOR UPDATE OF d
  ), stored AS (
    UPDATE device d
       SET status = t.status_after,
           last_seen_at = GREATEST(d.last_seen_at, t.seen_at),
           reporting_interval_s = t.interval_s,
           firmware = COALESCE(t.firmware, d.firmware),
           fault = CASE WHEN t.has_health THEN t.fault ELSE d.fault END,
           last_lat = CASE WHEN t.moves THEN t.lat ELSE d.last_lat END,
           last_lon = CASE WHEN t.moves THEN t.lon ELSE d.last_lon END,
           last_fix_at = CASE WHEN t.moves THEN t.fix_at ELSE d.last_fix_at END
      FROM target t WHERE d.id = t.id
  ), early AS (
    -- A check that is being moved at the same time is not waited for: the next report moves it again.
    SELECT c.device_id, ${offlineAt('t.seen_at', 't.interval_s')} AS check_at
      FROM target t JOIN device_online_check c ON c.device_id = t.id
     WHERE t.is_shorter AND c.check_at > ${offlineAt('t.seen_at', 't.interval_s')} FOR UPDATE OF c SKIP LOCKED
  ), moved AS (
    UPDATE device_online_check c SET check_at = early.check_at FROM early WHERE c.device_id = early.device_id
  )
  SELECT id, organization_id, status_before, status_after FROM target WHERE status_before <> status_after`

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
        ({ organization_id }) => organization_id ?? '',
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

/** A check that is due. `organization_id` is null if the device was deleted. */
type DueCheck = { device_id: string; organization_id: string | null }

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
    `SELECT device_id, organization_id FROM (
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
  SELECT id, organization_id FROM ended`

/** Makes these checks, unless another worker does. Returns the changes of the devices that are offline. */
function checkSome(pool: SystemContext['pool'], checks: readonly DueCheck[]): Promise<StatusChange[]> {
  return transaction(pool, async (connection) => {
    const { rows } = await connection.query<Pick<ChangedRow, 'id' | 'organization_id'>>(checkSql, [
      checks.map(({ device_id }) => device_id),
    ])
    const changes = rows.map((row) => toChange({ ...row, status_before: 'online', status_after: 'offline' }))
    await publishStatusChanges(connection, changes, { actor: 'system', reason: 'silent' })
    return changes
  })
}

/** Sets the status `error` after a failed config job, until the next report without fault. Disabled and offline devices keep theirs. */
export async function markConfigFailed(
  connection: Connection,
  organizationId: string,
  deviceId: string,
): Promise<void> {
  const { rows } = await connection.query<ChangedRow>(
    `WITH target AS (
       SELECT id, status FROM device WHERE organization_id = $1 AND id = $2 AND status IN ('online', 'provisioning') FOR UPDATE
     )
     UPDATE device d SET status = 'error' FROM target WHERE d.id = target.id
     RETURNING d.id, d.organization_id, target.status AS status_before, d.status AS status_after`,
    [organizationId, deviceId],
  )
  await publishStatusChanges(connection, rows.map(toChange), { actor: 'system', reason: 'config job failed' })
}

/** Writes the audit rows and events of status changes, in the transaction that makes them. */
export async function publishStatusChanges(
  connection: Connection,
  changes: readonly StatusChange[],
  cause: Cause,
): Promise<void> {
  await recordAudit(
    connection,
    changes.map(({ deviceId, organizationId, from, to }) => ({
      organizationId,
      actor: cause.actor,
      action: 'device.status_changed',
      subjectType: 'device',
      subjectId: deviceId,
      detail: { from, to, reason: cause.reason },
      ...(cause.requestId === undefined ? {} : { requestId: cause.requestId }),
    })),
  )
  await publishEvents(
    connection,
    changes.map(({ deviceId, organizationId, from, to }) => ({
      organizationId,
      type: 'device.status_changed',
      payload: { deviceId, from, to, reason: cause.reason },
    })),
  )
}
