import { storable } from '#core/text'
import type { SystemContext } from '#fleet/context'
import { offlineAt } from '#fleet/devices/reported/offline'
import type { StatusChange } from '#fleet/devices/status'
import { publishStatusChanges } from '#fleet/devices/status-changes'
import { transaction } from '#postgres/pool'

// What telemetry changes about a device. Begin here; then `offline.ts` for silent devices, and `dwell-events.ts`.

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
    const { rows: changes } = await connection.query<StatusChange>(applyReportsSql, [
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
    await publishStatusChanges(connection, changes, { actor: 'system', reason: 'telemetry' })
    return changes
  })
}

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
  SELECT id AS "deviceId", organization_id AS "organizationId", status_before AS "from", status_after AS "to"
  FROM target WHERE status_before <> status_after`
