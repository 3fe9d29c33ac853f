import type { SystemContext } from '#fleet/context'
import { handsOutSql, isFreeSql } from '#fleet/jobs/exclusivity'
import { deliverySql } from '#fleet/jobs/model/good-moment'
import { wakeDevices, wakeWorker } from '#fleet/jobs/notices'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Queryable } from '#postgres/pool'

/** What a device last reported, as far as a good moment depends on it. What it did not report remains as it was. */
export type DeviceMoment = {
  deviceId: string
  organizationId: string
  /** Time of the newest signal of the active modem. */
  signalAtMs: number | null
  /** Quality of that signal; null without one. */
  quality: string | null
  dwelling: boolean | null
}

/** The organizations that have open jobs which wait for a good moment. */
export async function waitingOrganizations(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ organization_id: string }>(
    `SELECT organization_id FROM job_batch WHERE delivery IS NOT NULL AND finished_at IS NULL
     UNION SELECT organization_id FROM job
       WHERE delivery IS NOT NULL AND status IN ('queued', 'dispatched', 'inProgress')`,
  )
  return new Set(rows.map(({ organization_id }) => organization_id))
}

/** Those of these devices that have an open job which waits for a good moment. */
export async function waitingDevices(db: Queryable, deviceIds: readonly string[]): Promise<Set<string>> {
  // OFFSET 0: see `delivery.ts`.
  const { rows } = await db.query<{ device_id: string }>(
    `SELECT asking.device_id FROM unnest($1::uuid[]) AS asking (device_id)
     WHERE EXISTS (SELECT FROM (
         SELECT batch_id, delivery FROM job
         WHERE device_id = asking.device_id AND status IN ('queued', 'dispatched', 'inProgress') OFFSET 0) j
       LEFT JOIN job_batch b ON b.id = j.batch_id WHERE ${deliverySql('j', 'b')} IS NOT NULL)`,
    [deviceIds],
  )
  return new Set(rows.map(({ device_id }) => device_id))
}

/**
 * Forgets what devices reported whose reports are not followed any more. Otherwise the next job would be delivered because of where
 * the device was during the last one.
 */
export async function forgetMoments(db: Queryable, deviceIds: readonly string[]): Promise<void> {
  if (deviceIds.length === 0) return
  await db.query('DELETE FROM device_moment WHERE device_id = ANY ($1::uuid[])', [deviceIds])
}

/** Forgets the moments of all organizations but these. */
export async function forgetMomentsExcept(db: Queryable, organizationIds: readonly string[]): Promise<void> {
  await db.query('DELETE FROM device_moment WHERE organization_id <> ALL ($1::uuid[])', [organizationIds])
}

// A crash of Postgres may lose a moment. The next report stores a newer one.
const asynchronousCommit = { prelude: 'SET LOCAL synchronous_commit = off' }

/**
 * Stores moments, and wakes the devices that may take a job because of them. A job that waits behind one with another good moment is
 * offered at once: `reconcileOffers` would offer it up to 30 s later, when the moment can be over.
 */
export async function storeMoments(
  system: Pick<SystemContext, 'pool'>,
  moments: readonly DeviceMoment[],
): Promise<void> {
  if (moments.length === 0) return
  const inOrder = [...moments].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  await systemTransaction(
    system,
    async (connection) => {
      await writeMoments(connection, inOrder)
      const { rows } = await connection.query<{ device_id: string }>(
        `SELECT DISTINCT j.device_id FROM unnest($1::uuid[]) AS told (device_id)
           CROSS JOIN LATERAL (
             SELECT id, organization_id, device_id, batch_id, delivery FROM job
             WHERE device_id = told.device_id AND status = 'dispatched' OFFSET 0) j
           LEFT JOIN job_batch b ON b.id = j.batch_id
         WHERE ${deliverySql('j', 'b')} IS NOT NULL AND ${handsOutSql('j', 'b')}`,
        [inOrder.map(({ deviceId }) => deviceId)],
      )
      await wakeDevices(
        connection,
        rows.map(({ device_id }) => device_id),
      )
      const { rowCount } = await connection.query(
        `UPDATE job SET hold = NULL, enqueued_at = NULL WHERE id IN (
           SELECT id FROM job WHERE device_id = ANY ($1::uuid[]) AND ${isFreeSql} ORDER BY id FOR UPDATE SKIP LOCKED)`,
        [inOrder.map(({ deviceId }) => deviceId)],
      )
      if (rowCount) await wakeWorker(connection)
    },
    asynchronousCommit,
  )
}

/** SQL: the new value of a column, or without one that which the same organization has stored. */
const keptSql = (column: string): string =>
  `coalesce(excluded.${column}, CASE WHEN known.organization_id = excluded.organization_id THEN known.${column} END)`

const writeMoments = (connection: Connection, moments: readonly DeviceMoment[]) =>
  connection.query(
    `INSERT INTO device_moment AS known (device_id, organization_id, signal_at, quality, dwelling, updated_at)
     SELECT device_id, organization_id, signal_at, quality, dwelling, now()
     FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::boolean[])
       AS told (device_id, organization_id, signal_at, quality, dwelling)
     ON CONFLICT (device_id) DO UPDATE SET organization_id = excluded.organization_id, updated_at = excluded.updated_at,
       signal_at = ${keptSql('signal_at')}, quality = ${keptSql('quality')}, dwelling = ${keptSql('dwelling')}`,
    [
      moments.map(({ deviceId }) => deviceId),
      moments.map(({ organizationId }) => organizationId),
      moments.map(({ signalAtMs }) => (signalAtMs === null ? null : new Date(signalAtMs))),
      moments.map(({ quality }) => quality),
      moments.map(({ dwelling }) => dwelling),
    ],
  )
