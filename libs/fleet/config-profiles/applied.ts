import type { StoredVariables } from '#fleet/config-profiles/variables/snapshot'
import type { Queryable } from '#postgres/pool'

/** A version of a profile with the values with which it was applied; null for one without variables. */
export type AppliedProfile = { id: string; version: number; variables: StoredVariables | null }

/** Returns the profile version that was last applied to a device. Undefined if none was. */
export async function findAppliedProfile(
  db: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<AppliedProfile | undefined> {
  const { rows } = await db.query<AppliedProfile>(
    `SELECT d.config_profile_id AS id, d.config_profile_version AS version, a.variables FROM device d
       LEFT JOIN device_applied_variables a ON a.device_id = d.id AND a.organization_id = d.organization_id
     WHERE d.organization_id = $1 AND d.id = $2 AND d.config_profile_id IS NOT NULL`,
    [organizationId, deviceId],
  )
  return rows[0]
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
