import type { PinnedVersion } from '#fleet/config-profiles/delivered'
import type { Connection, Queryable } from '#postgres/pool'

/** Returns the profile version that was last applied to a device, with its values. Undefined if none was. */
export async function findAppliedProfile(
  db: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<PinnedVersion | undefined> {
  const { rows } = await db.query<PinnedVersion>(
    `SELECT d.organization_id AS "organizationId", d.config_profile_id AS "profileId", d.config_profile_version AS version,
       a.variables
     FROM device d
       LEFT JOIN device_applied_variables a ON a.device_id = d.id AND a.organization_id = d.organization_id
     WHERE d.organization_id = $1 AND d.id = $2 AND d.config_profile_id IS NOT NULL`,
    [organizationId, deviceId],
  )
  return rows[0]
}

type AppliedJob = { id: string; organizationId: string; deviceId: string; batchId: string | null }

/**
 * Stores what a job has applied to its device: the profile and the values of its variables. What the device reported before says
 * nothing any more.
 */
export async function storeAppliedProfile(
  connection: Connection,
  { id, organizationId, deviceId, batchId }: AppliedJob,
): Promise<void> {
  await connection.query(
    `UPDATE device d SET config_profile_id = b.profile_id, config_profile_version = b.profile_version,
       revision = d.revision + 1, updated_at = now()
     FROM job_batch b WHERE b.id = $3 AND d.organization_id = $1 AND d.id = $2`,
    [organizationId, deviceId, batchId],
  )
  await connection.query(
    `WITH applied AS (SELECT variables FROM job WHERE id = $3 AND variables IS NOT NULL),
       removed AS (DELETE FROM device_applied_variables WHERE device_id = $2 AND NOT EXISTS (SELECT FROM applied)),
       outdated AS (UPDATE device_reported_config SET outdated = true, differs_since = NULL
         WHERE organization_id = $1 AND device_id = $2)
     INSERT INTO device_applied_variables (organization_id, device_id, variables) SELECT $1, $2, variables FROM applied
     ON CONFLICT (device_id) DO UPDATE SET variables = EXCLUDED.variables`,
    [organizationId, deviceId, id],
  )
}

/** Returns whether a job that applies a profile is in progress on the device. */
export async function isApplyingProfile(
  db: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM job
     WHERE organization_id = $1 AND device_id = $2 AND status = 'inProgress' AND kind = 'apply_config'`,
    [organizationId, deviceId],
  )
  return Boolean(rowCount)
}
